"""BGP Flowspec (RFC 8955, IPv6: RFC 8956): one specification as data, in words, and on the wire.

Ports are those of TCP and UDP. Fragments after the first carry none: only specifications without ports match them."""

import struct
from ipaddress import ip_network
from typing import NamedTuple

from controller.core.access import Verdict

Ranges = tuple[tuple[int, int], ...]

NUMBERS = {"tcp": 6, "udp": 17, "sctp": 132, "gre": 47, "esp": 50, "ah": 51}
ICMP = {4: 1, 6: 58}


class FlowSpec(NamedTuple):
    """One specification. Prefixes in CIDR form, protocols and destination ports as ranges (empty: all), `actions` the
    extended communities, eight octets each as hex."""

    destination: str
    source: str
    protocols: Ranges
    ports: Ranges
    actions: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"from {self.source} to {self.destination}"]
        parts += [f"protocol {_text(self.protocols)}"] if self.protocols else []
        parts += [f"port {_text(self.ports)}"] if self.ports else []
        return f"{', '.join(parts)}: {', '.join(map(action_text, self.actions))}"

    def nlri(self) -> bytes:
        """Return the wire form, with its length in front (RFC 8955, section 4)."""
        parts = _prefix(1, self.destination) + _prefix(2, self.source)
        parts += _numbers(3, self.protocols) + _numbers(5, self.ports)
        return (bytes([len(parts)]) if len(parts) < 240 else struct.pack("!H", 0xF000 | len(parts))) + parts


def number(protocol: str, version: int) -> int:
    """Return a protocol's number over IPv4 or IPv6."""
    return ICMP[version] if protocol == "icmp" else NUMBERS[protocol] if protocol in NUMBERS else int(protocol)


def actions(verdict: Verdict) -> tuple[str, ...]:
    """Return the extended communities (RFC 8955, section 7): traffic-rate-bytes, of 0 to drop, and traffic-marking."""
    if not verdict.passes:
        return (_rate(0),)
    rate, dscp = verdict.rate_kbps, verdict.dscp
    found = [] if rate is None else [_rate(rate * 125)]
    return tuple(found + ([] if dscp is None else [struct.pack("!BB5xB", 0x80, 0x09, dscp).hex()]))


def _rate(bytes_per_second: int) -> str:
    return struct.pack("!BBHf", 0x80, 0x06, 0, bytes_per_second).hex()


def action_text(community: str) -> str:
    """Return an action in words."""
    octets = bytes.fromhex(community)
    if octets[1] == 0x09:
        return f"mark DSCP {octets[7]}"
    (rate,) = struct.unpack("!f", octets[4:])
    return "drop" if rate == 0 else f"limit to {rate / 125:g} kbit/s"


def _text(ranges: Ranges) -> str:
    return " or ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _prefix(kind: int, prefix: str) -> bytes:
    """Return a prefix component (RFC 8955, section 4.2.2.1; RFC 8956, section 3.1, with an offset of 0)."""
    network = ip_network(prefix)
    octets = network.network_address.packed[: (network.prefixlen + 7) // 8]
    return bytes([kind, network.prefixlen, *([0] if network.version == 6 else [])]) + octets


def _numbers(kind: int, ranges: Ranges) -> bytes:
    """Return a numeric component (RFC 8955, section 4.2.1.1): operator and value, a range as at-least AND at-most."""
    if not ranges:
        return b""
    items = bytearray([kind])
    for i, (first, last) in enumerate(ranges):
        end = 0x80 if i == len(ranges) - 1 else 0
        if first == last:
            items += _item(0x01 | end, first)
        else:
            items += _item(0x03, first) + _item(0x45 | end, last)
    return bytes(items)


def _item(operator: int, value: int) -> bytes:
    return bytes([operator, value]) if value < 256 else struct.pack("!BH", operator | 0x10, value)
