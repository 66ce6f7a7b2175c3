"""A Flowspec specification in its wire format (RFC 8955, section 4; IPv6: RFC 8956), and the order in which
specifications are tried (section 5.1). Pure."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_network

from controller.wire.access import Filter

DESTINATION, SOURCE, PROTOCOL, TO_PORT, FROM_PORT = 1, 2, 3, 5, 6
"""The types of components that this module understands (RFC 8955, section 4.2.2)."""

HIGHEST = {PROTOCOL: 0xFF, TO_PORT: 0xFFFF, FROM_PORT: 0xFFFF}

FASTEST = 2.0**34
"""Most bytes a second for a limit: more than any port has, and as much as the kernel can count with."""

Ranges = tuple[tuple[int, int], ...]
Network = IPv4Network | IPv6Network

_RATE, _MARK = 0x8006, 0x8009  # traffic-rate-bytes, traffic-marking (section 7)


@dataclass(frozen=True)
class Specification:
    """`components` holds the wire format of each component, without its type, by type. Matching packets pass up to
    `rate` bytes a second (None: all of them, 0: none), and get the DSCP if there is one."""

    filter: Filter
    version: int
    components: tuple[tuple[int, bytes], ...]
    rate: float | None
    dscp: int | None

    @property
    def name(self) -> str:
        """A name that the same specification with the same actions always has, and no other."""
        text = f"{self.filter.family} {self.filter.nlri} {' '.join(self.filter.actions)}"
        return blake2b(text.encode(), digest_size=8).hexdigest()

    def prefix(self, kind: int) -> Network | None:
        """Return the prefix of a component, or None if it is left out."""
        octets = dict(self.components).get(kind)
        return None if octets is None else _network(octets, self.version)

    def numbers(self, kind: int) -> Ranges | None:
        """Return the values that a component matches, or None if it is left out."""
        octets = dict(self.components).get(kind)
        return None if octets is None else _ranges(octets, HIGHEST[kind])


def read(of: Filter) -> Specification:
    """Return the specification of a filter. Raises ValueError if the kernel cannot filter exactly so: no filter is
    better than a different one."""
    version = 4 if of.family == "ipv4-flowspec" else 6
    octets = bytes.fromhex(of.nlri)
    head = 1 if octets[0] < 0xF0 else 2
    length = octets[0] if head == 1 else int.from_bytes(octets[:2]) & 0xFFF
    if length != len(octets) - head:
        raise ValueError(f"filter {of.nlri}: not as long as it says")
    components = tuple(_components(octets[head:], version, of.nlri))
    rate, dscp = _actions(of)
    return Specification(of, version, components, rate, dscp)


def ordered(specifications: Iterable[Specification]) -> list[Specification]:
    """Return each specification once, in the order of RFC 8955, section 5.1, and IPv4 before IPv6. One NLRI has one set
    of actions: of several sets the first by their octets counts, whoever announces it."""
    found: dict[tuple[int, tuple[tuple[int, bytes], ...]], Specification] = {}
    for one in sorted(specifications, key=lambda s: (s.filter.family, s.filter.nlri, s.filter.actions)):
        found.setdefault((one.version, one.components), one)
    return sorted(found.values(), key=cmp_to_key(_compare))


def _compare(one: Specification, other: Specification) -> int:
    if one.version != other.version:
        return one.version - other.version
    for (kind, octets), (other_kind, other_octets) in zip(one.components, other.components, strict=False):
        if kind != other_kind:
            return kind - other_kind
        if octets == other_octets:
            continue
        if kind in (DESTINATION, SOURCE):
            here, there = _network(octets, one.version), _network(other_octets, one.version)
            if here.overlaps(there):  # then one contains the other, and the longer is tried first
                return there.prefixlen - here.prefixlen
            return -1 if here.network_address.packed < there.network_address.packed else 1
        common = min(len(octets), len(other_octets))
        if octets[:common] == other_octets[:common]:
            return len(other_octets) - len(octets)
        return -1 if octets[:common] < other_octets[:common] else 1
    return len(other.components) - len(one.components)


def _components(octets: bytes, version: int, nlri: str) -> Iterator[tuple[int, bytes]]:
    before = 0
    while octets:
        kind, octets = octets[0], octets[1:]
        if kind <= before:
            raise ValueError(f"filter {nlri}: components out of order")
        if kind not in (DESTINATION, SOURCE, *HIGHEST):
            raise ValueError(f"filter {nlri}: components of type {kind} are not understood")
        before, length = kind, _length(octets, kind, version)
        if not 0 < length <= len(octets):
            raise ValueError(f"filter {nlri}: cut off")
        yield kind, octets[:length]
        octets = octets[length:]


def _length(octets: bytes, kind: int, version: int) -> int:
    """Return the number of octets of a component after its type, or 0 if that cannot be told."""
    if not octets:
        return 0
    if kind in (DESTINATION, SOURCE):
        head = 1 if version == 4 else 2
        if octets[0] > (32 if version == 4 else 128) or octets[1:head] not in (b"", b"\0"):
            return 0  # an offset: the prefix does not begin at the first bit (RFC 8956, section 3.1)
        return head + (octets[0] + 7) // 8
    at = 0
    while at < len(octets):
        operator = octets[at]
        at += 1 + (1 << (operator >> 4 & 3))
        if operator & 0x80:
            return at
    return 0


def _network(octets: bytes, version: int) -> Network:
    address = octets[1 if version == 4 else 2 :]
    whole = address + bytes((4 if version == 4 else 16) - len(address))
    return ip_network((whole, octets[0]), strict=False)


def _ranges(octets: bytes, highest: int) -> Ranges:
    """Return the values that the terms match. Terms are joined by OR, unless the AND bit is set (RFC 8955, section
    4.2.1.1)."""
    terms: list[list[tuple[int, int]]] = []
    at = 0
    while at < len(octets):
        operator, size = octets[at], 1 << (octets[at] >> 4 & 3)
        value = int.from_bytes(octets[at + 1 : at + 1 + size])
        at += 1 + size
        this = _joined(
            ([(0, min(value - 1, highest))] if operator & 0x04 else [])
            + ([(value + 1, highest)] if operator & 0x02 else [])
            + ([(value, value)] if operator & 0x01 and value <= highest else [])
        )
        if operator & 0x40 and terms:
            this = [(max(a, c), min(b, d)) for a, b in terms.pop() for c, d in this if max(a, c) <= min(b, d)]
        terms.append(this)
    return tuple(_joined([found for term in terms for found in term]))


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    done: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if first > last:
            continue
        if done and first <= done[-1][1] + 1:
            done[-1] = done[-1][0], max(last, done[-1][1])
        else:
            done.append((first, last))
    return done


def _actions(of: Filter) -> tuple[float | None, int | None]:
    rate: float | None = None
    dscp: int | None = None
    for action in of.actions:
        octets = bytes.fromhex(action)
        kind = int.from_bytes(octets[:2])
        if len(octets) != 8 or kind not in (_RATE, _MARK):
            raise ValueError(f"filter {of.nlri}: action {action} is not understood")
        if kind == _MARK:
            dscp = octets[7] & 0x3F
        else:
            (limit,) = struct.unpack("!f", octets[4:])
            if not limit >= 0:  # NaN is not either
                raise ValueError(f"filter {of.nlri}: action {action} is not a rate")
            rate = min(limit, FASTEST if rate is None else rate)
    return rate, dscp
