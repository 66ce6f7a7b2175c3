"""Receivers of webhooks: the URLs that they may have, and the times of the attempts to reach them. Pure.

An operator names URLs that the controller then calls, from its own place in the network (server-side request forgery).
So a URL needs TLS, whose certificate must be valid for its host, unless it leads to this machine or plain HTTP is
allowed; it contains no credentials, and no address at which clouds and hosts serve their own data without asking who
calls. Private addresses are allowed, because that is where receivers usually are."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

FIRST = 1.0
"""Seconds from the first failed attempt to the next one; twice as many after each further one."""

LONGEST = 3600.0
"""Most seconds between two attempts, unless the receiver wants more (`Retry-After`)."""

ENDURED = timedelta(days=1)
"""The time after which a receiver that has failed all along is paused."""

LONGEST_HEADER = 64
"""Characters of a receiver's header that are read."""

LOCAL = ("localhost", "127.0.0.1", "::1")

GONE = 410
"""The status with which a receiver says that it wants no more (Standard Webhooks, "Delivery status codes")."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attempt: the answer's status, None without an answer; the reason in words, if the attempt
    failed; the seconds that the receiver wants to be left alone."""

    status: int | None
    milliseconds: int
    reason: str = ""
    retry_after: float | None = None

    @property
    def delivered(self) -> bool:
        """Whether the receiver has taken the event."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """Whether the receiver wants no more events."""
        return self.status == GONE


def objection(url: str, *, plain: bool) -> str | None:
    """Return why a receiver may not have this URL, as a message for the operator; None if it may. `plain`: HTTP without
    TLS is allowed to other machines too."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"this is not a URL: {error}"
    if parts.scheme not in ("https", "http") or not host:
        return "a receiver has an https:// URL"
    if parts.username is not None or parts.password is not None:
        return "a URL contains no credentials: the signature proves the sender"
    if parts.fragment:
        return "a URL that is called has no fragment (#…)"
    if parts.scheme == "http" and host not in LOCAL and not plain:
        return "plain http:// is for receivers on this machine; WEFT_WEBHOOK_HTTP=true allows it to others"
    return _reserved(host)


def _reserved(host: str) -> str | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return f"{host} is link-local, multicast or unspecified: no receiver is there"
    return None


def origin(url: str) -> str:
    """Return scheme, host and port of a URL, for logs and events: its path may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def pause(attempts: int, chance: float, wanted: float | None) -> float:
    """Return the seconds until the next attempt, after `attempts` failed ones in a row. `chance` is a random number
    from 0 to 1, which keeps many controllers from calling at the same moments; `wanted` is what the receiver wants."""
    longest = min(LONGEST, FIRST * 2.0 ** min(attempts - 1, 32))
    own = longest * (0.5 + chance / 2)
    return own if wanted is None else max(own, min(wanted, ENDURED.total_seconds()))


def wanted(header: str | None, at: datetime) -> float | None:
    """Return the seconds that a `Retry-After` header names (RFC 9110, section 10.2.3), at a time; None if it names
    none."""
    text = (header or "")[:LONGEST_HEADER].strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - at).total_seconds())
