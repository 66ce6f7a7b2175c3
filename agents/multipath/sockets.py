"""The guest's list of its connections: the output of `ss` for TCP sockets that are subflows. Pure.

The guest may print anything instead, so each line is split once, and only a fixed number of its words is read.
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
"""The command whose output `sockets` reads: one line for each socket, with numbers (iproute2). It lists all states in
which the guest may have data to send: a connection that one side has closed is not over until that has arrived."""

LONGEST = 4096
"""Characters of a line that are read. `ss` prints at most some 1,500."""

_DIGITS = 10  # most digits of a queue's length, a port, a token
_ADDRESS = 64  # characters: brackets, an IPv6 address, a device


@dataclass(frozen=True)
class Socket:
    """A socket that is not closed. `token` is that of its Multipath TCP connection in the guest, None without one.
    `joined`: it was added to the connection, and its handshake is complete."""

    local: Address
    peer: Address
    token: int | None = None
    joined: bool = False


def sockets(text: str) -> list[Socket]:
    """Return the sockets in the output of `COMMAND`. Lines that cannot be read are left out."""
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
    """Return the connections that have a path to a new address, added after the one with which they began."""
    return frozenset(s.token for s in found if s.token is not None and s.joined and s.local in new)


def bound(found: Iterable[Socket], old: Collection[Address], new: Collection[Address]) -> frozenset[int]:
    """Return the connections that have a path to an old address, and none to a new one."""
    found = tuple(found)
    there = {s.token for s in found if s.local in new}
    return frozenset(s.token for s in found if s.token is not None and s.local in old) - there


def plain(found: Iterable[Socket], old: Collection[Address]) -> int:
    """Return how many TCP connections without Multipath TCP use an old address."""
    return sum(s.token is None and s.local in old for s in found)


def _ends(words: list[str]) -> tuple[Address, Address] | None:
    """Return the local address and the peer's; None if the line is not about a socket."""
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
    """Return the flags of a subflow and its connection's token in this guest; no flags and None for a plain socket.
    `ss` prints them as `tcp-ulp-mptcp flags:FLAGS token:PEER(id:N)/OWN(id:N)`."""
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
    """Return the address without brackets and device. An IPv4 address in IPv6 form becomes an IPv4 address."""
    if len(text) > _ADDRESS:
        raise ValueError("longer than an address")
    address = ip_address(text.strip("[]").partition("%")[0].rstrip("]"))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
