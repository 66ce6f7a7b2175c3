"""A guest's own word on its connections: what `ss` prints of TCP sockets that are subflows. Pure.

The guest may print what it likes instead, so each line is split once, and looked at in a fixed number of places.
"""

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

LONGEST = 4096
"""Characters of a line that are looked at. `ss` prints at most some 1,500."""

_DIGITS = 10  # of a queue's length, a port, a token
_ADDRESS = 64  # characters: brackets, an IPv6 address, a device


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
        words = line[:LONGEST].split()
        ends = _ends(words)
        if ends is None:
            continue
        flags, token = _subflow(words)
        found.append(Socket(*ends, token, joined=bool(flags & {"J", "j"}) and "e" in flags))
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


def _ends(words: list[str]) -> tuple[Address, Address] | None:
    """The local address and the peer's; None if the line is not about a socket."""
    at = 0 if words and _number(words[0]) else 1  # some versions print the state first
    if len(words) < at + 4 or not (_number(words[at]) and _number(words[at + 1])):
        return None
    ends = [word.rpartition(":") for word in words[at + 2 : at + 4]]
    if not all(_number(port) for _, _, port in ends):
        return None
    try:
        return _address(ends[0][0]), _address(ends[1][0])
    except ValueError:
        return None


def _subflow(words: list[str]) -> tuple[frozenset[str], int | None]:
    """The flags of a subflow and its connection's token in this guest; none of a plain socket. They are printed as
    `tcp-ulp-mptcp flags:FLAGS token:PEER(id:N)/OWN(id:N)`."""
    try:
        at = words.index("tcp-ulp-mptcp")
        flags, tokens = words[at + 1], words[at + 2]
    except (ValueError, IndexError):
        return frozenset(), None
    own = tokens.partition("/")[2].partition("(id:")[0]
    if not (flags.startswith("flags:") and tokens.startswith("token:") and 0 < len(own) <= _DIGITS):
        return frozenset(), None
    try:
        return frozenset(flags.removeprefix("flags:")), int(own, 16)
    except ValueError:
        return frozenset(), None


def _number(text: str) -> bool:
    return len(text) <= _DIGITS and text.isascii() and text.isdecimal()


def _address(text: str) -> Address:
    """Without brackets and device; an IPv4 address in IPv6 form is the former."""
    if len(text) > _ADDRESS:
        raise ValueError("longer than an address")
    address = ip_address(text.strip("[]").partition("%")[0].rstrip("]"))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
