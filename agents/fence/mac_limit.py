"""How many MACs a bridge learns of one port, to nft text. Pure.

A bridge keeps each source MAC that it hears for 300 s, in the kernel's memory and without a bound of its own (Linux 6.7
has `fdb_max_learned`, for the whole bridge: there one port's MACs keep out another's). So a frame of a MAC that is new
at its port is dropped ahead of the bridge once the port has spent what it may: `BURST` MACs at once, and `RATE` a
second over time. What a port has spoken with stays known as long as the bridge remembers it, and goes on.

The tables of the fences are replaced at each change, and this is what was counted: it stays, and only its rules change.
Ports of a tunnel count where the bridge learns from it (VPLS); an EVPN pool's MACs come by BGP, which has limits.
"""

from collections.abc import Iterator, Sequence

from agents.fence.rules import Fence, access_ports

TABLE = "weft-macs"

CROWD = "crowd"
"""Counters are `BRIDGE.crowd-at` for access ports, and `BRIDGE.crowd-in` for tunnels."""

AGEING = 300
"""Seconds for which a bridge remembers a MAC (linux/if_bridge.h, BR_DEFAULT_AGEING_TIME)."""

BURST, RATE = 4096, 14
"""Per access port, so that a bridge never has more than `BURST + RATE * AGEING` MACs of it: 8,296."""

TUNNEL = 4
"""So many times that for a tunnel of a VPLS pool, behind which is a whole LAN."""

_PORTS, _MACS = 65_536, 2**21  # sizes of the sets, which take memory as they fill


def mac_limit(fences: Sequence[Fence]) -> str:
    """Return the text for `nft -f`: the table `bridge weft-macs`, which is made where it is not, and its rules anew. No
    fences, no table."""
    if not fences:
        return f"table bridge {TABLE}\ndelete table bridge {TABLE}\n"
    ordered = sorted(fences, key=lambda fence: fence.bridge)
    counters = [f"\tcounter {fence.bridge}.{CROWD}-{way} {{ }}" for fence in ordered for way in ("at", "in")]
    lines = [
        f"table bridge {TABLE} {{",
        f"\tset known {{ type ifname . ether_addr; size {_MACS}; timeout {AGEING}s; flags dynamic,timeout; }}",
        f"\tset newcomers {{ type ifname; size {_PORTS}; timeout {2 * AGEING}s; flags dynamic,timeout; }}",
        *counters,
        "\tchain prerouting { type filter hook prerouting priority filter + 1; policy accept; }",
        "}",
        f"flush chain bridge {TABLE} prerouting",
        f"table bridge {TABLE} {{",
        "\tchain prerouting {",
        "\t\tiifname . ether saddr @known update @known { iifname . ether saddr } return",
        *(f"\t\t{rule}" for fence in ordered for rule in _rules(fence)),
        "\t}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _rules(fence: Fence) -> Iterator[str]:
    """By the ports' names: not every kernel tells nft the bridge's."""
    tunnels = f'"{fence.tunnels}"' if fence.learns else ""
    for ports, way, times in ((access_ports(fence), "at", 1), (tunnels, "in", TUNNEL)):
        if ports:
            over = f"iifname limit rate over {times * RATE}/second burst {times * BURST} packets"
            yield f"iifname {ports} update @newcomers {{ {over} }} counter name {fence.bridge}.{CROWD}-{way} drop"
            yield f"iifname {ports} update @known {{ iifname . ether saddr }}"
