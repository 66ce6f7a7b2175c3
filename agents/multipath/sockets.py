"""A guest's own word on its connections: what `ss` prints of TCP sockets that are subflows. Pure."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from agents.multipath.segment import Address

COMMAND = (
    "ss",
    "-HOtni",
    *(word for name in ("established", "close-wait", "fin-wait-1", "last-ack") for word in ("state", name)),
)
"""Prints what `sockets` reads: one line each, with numbers (iproute2). All in which the guest may still have something
to say: a connection that one side has closed is not over until that has arrived."""

_ENDS = re.compile(r"\d+\s+\d+\s+(?P<local>\S+):\d+\s+(?P<peer>\S+):\d+\s")
_SUBFLOW = re.compile(r"tcp-ulp-mptcp flags:(?P<flags>\w*) token:[0-9a-f]+\(id:\d+\)/(?P<token>[0-9a-f]+)\(id:\d+\)")


@dataclass(frozen=True)
class Socket:
    """One that is not over. `token` is its Multipath TCP connection's in the guest, None without; `joined` if it was
    added to the connection and its handshake is over."""

    local: Address
    peer: Address
    token: int | None = None
    joined: bool = False


def sockets(text: str) -> list[Socket]:
    """What cannot be read is left out."""
    found = []
    for line in text.splitlines():
        ends, subflow = _ENDS.search(line), _SUBFLOW.search(line)
        if ends is None:
            continue
        try:
            local, peer = _address(ends["local"]), _address(ends["peer"])
        except ValueError:
            continue
        flags = set(subflow["flags"]) if subflow else set()
        joined = bool(flags & {"J", "j"}) and "e" in flags
        found.append(Socket(local, peer, int(subflow["token"], 16) if subflow else None, joined))
    return found


def joined(found: Iterable[Socket], new: Collection[Address]) -> frozenset[int]:
    """The connections that have a path to a new address beside the one they began with."""
    return frozenset(s.token for s in found if s.token is not None and s.joined and s.local in new)


def bound(found: Iterable[Socket], old: Collection[Address], new: Collection[Address]) -> frozenset[int]:
    """The connections that have no path but to an old address."""
    found = tuple(found)
    there = {s.token for s in found if s.local in new}
    return frozenset(s.token for s in found if s.token is not None and s.local in old) - there


def plain(found: Iterable[Socket], old: Collection[Address]) -> int:
    """How many TCP connections without Multipath TCP hang on an old address."""
    return sum(s.token is None and s.local in old for s in found)


def _address(text: str) -> Address:
    """Without brackets and device; an IPv4 address in IPv6 form is the former."""
    address = ip_address(text.strip("[]").partition("%")[0].rstrip("]"))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
