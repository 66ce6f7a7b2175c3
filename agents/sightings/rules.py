"""Turns LANs into nft text: the packets that the kernel reports. Pure.

There are two kinds. `in` is out of a tunnel, whatever its source: a device of another LAN of the pool speaks to this
one, or one of this LAN's prefix speaks from elsewhere. `at` is from a port of the LAN itself, with a source that is
none of this cloudlet's. A source is an address and a MAC at a port: it is reported once, then held back for QUIET
seconds. The rules limit the new sources a second that they report, for each port and for all of them, so that no port's
flood hides what others send. So the sets cannot fill up before their elements expire.

The rules come after the fence's, so a packet that the fence drops is not seen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

TABLE = "weft-sightings"
GROUP = 22341
"""The NFLOG group, per network namespace: "WE" in ASCII."""

QUIET = 60
"""Seconds for which a source is not reported again."""

RATE, BURST = 20, 100
"""New sources of one port a second, of each kind and family, and the most at once."""

PORTS = 10
"""So many ports may do so at the same time."""

ROOM = 2 * PORTS * (RATE * QUIET + BURST)
"""Most sources that are held back: more than can come in before the first of them expires."""

TALKERS = 65_536
"""Most ports that are told apart."""

SNAP = 40
"""Bytes of a packet that are copied: the IPv6 header, which is longer than IPv4's addresses need."""

_NOWHERE = {4: "0.0.0.0, 169.254.0.0/16", 6: "::, fe80::/10"}
"""Source addresses that do not tell where a device is."""

_WORDS = {4: ("ip", "ip", "ipv4_addr"), 6: ("ip6", "ip6", "ipv6_addr")}
"""EtherType, header and address type, in nft's terms."""


@dataclass(frozen=True, order=True)
class Watch:
    """One LAN: its tunnel ports (a name, or a prefix ending in `*`), and its own prefixes in CIDR form."""

    tunnels: str
    prefixes: tuple[str, ...]


def ruleset(watches: Sequence[Watch]) -> str:
    """Return the text for `nft -f` that replaces the table in one transaction. Equal sets of LANs give equal text;
    without LANs there is no table. Raises ValueError for an invalid prefix."""
    lines = [f"table bridge {TABLE}", f"delete table bridge {TABLE}"]
    if watches:
        lines += [f"table bridge {TABLE} {{", *_sets(watches)]
        for way in ("in", "at"):
            lines += _chain(way, _rules(way))
        hook = "type filter hook prerouting priority filter + 10; policy accept;"
        tunnels = [f'iifname "{watch.tunnels}" goto in' for watch in sorted(watches)]
        lines += _chain("prerouting", [hook, *tunnels, "goto at"])
        lines += ["}"]
    return "\n".join(lines) + "\n"


def _sets(watches: Iterable[Watch]) -> list[str]:
    networks = [ip_network(prefix) for watch in sorted(watches) for prefix in watch.prefixes]
    lines = []
    for version, (_, _, kind) in _WORDS.items():
        own = ", ".join(str(network) for network in networks if network.version == version)
        elements = f" elements = {{ {own} }}" if own else ""
        lines.append(f"\tset own{version} {{ type {kind}; flags interval; auto-merge;{elements} }}")
        for way in ("in", "at"):
            key = f"type iface_index . {kind} . ether_addr; flags dynamic,timeout; timeout {QUIET}s; size {ROOM};"
            lines.append(f"\tset {way}{version} {{ {key} }}")
            talkers = f"type iface_index; flags dynamic,timeout; timeout {QUIET}s; size {TALKERS};"
            lines.append(f"\tset talkers-{way}{version} {{ {talkers} }}")
    return lines


def _rules(way: str) -> list[str]:
    rules = []
    for version, (ether, header, _) in _WORDS.items():
        source = f"iif . {header} saddr . ether saddr"
        told = f'log prefix "{way}" group {GROUP} snaplen {SNAP} queue-threshold 1'
        rules += [f"{header} saddr {{ {_NOWHERE[version]} }} return"]
        rules += [f"{header} saddr @own{version} return"] if way == "at" else []
        rules += [
            f"{source} @{way}{version} return",
            f"ether type {ether} update @talkers-{way}{version} "
            f"{{ iif limit rate over {RATE}/second burst {BURST} packets }} return",
            f"ether type {ether} limit rate {PORTS * RATE}/second burst {PORTS * BURST} packets "
            f"add @{way}{version} {{ {source} }} {told} return",
        ]
    return rules


def _chain(name: str, rules: Iterable[str]) -> list[str]:
    return [f"\tchain {name} {{", *(f"\t\t{rule}" for rule in rules), "\t}"]
