"""Kernel settings that the agent does not own and that drop or misdirect packets of the LANs. Pure.

For most of them the kernel uses the higher value of `all` and of the interface
(Documentation/networking/ip-sysctl.rst).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from controller.wire.findings import Finding

BRIDGED = "net/bridge/bridge-nf-call-iptables"
"""The setting that says whether IP chains see bridged packets; its file does not exist without br_netfilter."""


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    good: Callable[[int], bool]
    expected: str
    why: str


_RULES = (
    _Rule("rp_filter", lambda v: v != 1, "0 or 2", "packets of a remote that two LANs share a pool with are dropped"),
    _Rule(
        "arp_ignore", lambda v: v in (0, 1), "0 or 1", "the gateway does not answer ARP from another LAN of the pool"
    ),
    _Rule("arp_filter", lambda v: v == 0, "0", "the gateway does not answer ARP of a remote that two LANs share"),
    _Rule("proxy_arp", lambda v: v == 0, "0", "the gateway answers ARP for addresses that are others'"),
)


def paths(bridges: Iterable[str]) -> list[str]:
    """Return the files to read, as paths below /proc/sys."""
    places = ("all", *bridges)
    return [BRIDGED, *(f"net/ipv4/conf/{place}/{rule.name}" for rule in _RULES for place in places)]


def findings(values: Mapping[str, str], bridges: Iterable[str]) -> list[Finding]:
    """Return one finding for each harmful setting: that of `all`, or else those of the bridges. A setting that cannot
    be read gives no finding."""
    found = []
    for rule in _RULES:
        bad = [p for p in ("all", *bridges) if _bad(rule, values.get(f"net/ipv4/conf/{p}/{rule.name}"))]
        for place in bad[:1] if bad[:1] == ["all"] else bad:
            name, value = f"net.ipv4.conf.{place}.{rule.name}", values[f"net/ipv4/conf/{place}/{rule.name}"]
            text = f"{name} is {value}: {rule.why}."
            found.append(
                Finding(kind="setting", subject=name, expected=rule.expected, found=value[:200], text=text[:500])
            )
    return found


def _bad(rule: _Rule, value: str | None) -> bool:
    return value is not None and value.isdecimal() and not rule.good(int(value))
