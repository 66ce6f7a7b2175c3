"""An endpoint's LAN: the bridge with the gateway address, its access ports, its sysctls, and the on-link routes to the
prefixes of remotes. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from hashlib import blake2b
from ipaddress import ip_network
from socket import AF_INET, AF_INET6

from agents.kernel import TABLES, Bridge, Port, Route, Rule, Snapshot
from controller.wire.desired import Desired, Endpoint, Remote

METRIC = 100
"""Metric of on-link routes, plus the endpoint's index."""


def bridge_name(endpoint: Endpoint) -> str:
    """The bridge's interface name."""
    return f"lan{endpoint.index}"


def mac(cloudlet: str, index: int) -> str:
    """The bridge's address: locally administered, the same after every restart, so that ARP caches stay right."""
    return "02:" + blake2b(f"{cloudlet}/{index}".encode(), digest_size=5).digest().hex(":")


def bridge(cloudlet: str, endpoint: Endpoint) -> Bridge:
    """The bridge as it should be."""
    length = ip_network(endpoint.prefix, strict=False).prefixlen
    return Bridge(
        name=bridge_name(endpoint),
        mac=mac(cloudlet, endpoint.index),
        mtu=endpoint.mtu,
        up=True,
        addresses=frozenset({f"{endpoint.gateway}/{length}"}),
    )


def sysctls(endpoint: Endpoint) -> Mapping[str, str]:
    """Settings of the bridge by path below /proc/sys.

    A gateway takes addresses from gratuitous ARP (and unsolicited NA), or a moved VM would be a black hole until its
    neighbour entry expires. It asks again after 50 ms, eight times, so that the first packet over a new tunnel is not
    held up for a second, whatever the distance. It sends no redirects, as devices reach other prefixes through it
    though all is on one link.
    """
    name = bridge_name(endpoint)
    ipv4 = ip_network(endpoint.prefix, strict=False).version == 4
    return {
        f"net/ipv4/conf/{name}/arp_accept": "1",
        f"net/ipv4/conf/{name}/send_redirects": "0",
        f"net/ipv4/neigh/{name}/retrans_time_ms": "50",
        f"net/ipv4/neigh/{name}/mcast_solicit": "8",
        f"net/ipv6/neigh/{name}/retrans_time_ms": "50",
        f"net/ipv6/neigh/{name}/mcast_solicit": "8",
        f"net/ipv6/conf/{name}/accept_untracked_na": "1",
        f"net/ipv6/conf/{name}/disable_ipv6": "1" if ipv4 else "0",
    }


def router_sysctls(desired: Desired) -> Mapping[str, str]:
    """Settings of the whole network namespace; none while there is no endpoint."""
    if not desired.endpoints:
        return {}
    settings = {"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/send_redirects": "0"}
    if any(ip_network(e.prefix, strict=False).version == 6 for e in desired.endpoints):
        settings["net/ipv6/conf/all/forwarding"] = "1"
    return settings


def ports(desired: Desired, present: Mapping[str, Port]) -> tuple[dict[str, Endpoint], dict[int, list[str]]]:
    """Which access port belongs to which endpoint, and by endpoint index what is wrong with the others.

    An interface that matches patterns of two endpoints belongs to the one with the lower index. One that is on a
    bridge that is not ours is left alone.
    """
    assigned: dict[str, Endpoint] = {}
    problems: dict[int, list[str]] = {}
    ours = {bridge_name(e) for e in desired.endpoints}
    for endpoint in sorted(desired.endpoints, key=lambda e: e.index):
        for name in sorted(present):
            if name == "lo" or not any(fnmatchcase(name, pattern) for pattern in endpoint.ports):
                continue
            current = present[name].bridge
            if name in assigned:
                text = f"port {name} already belongs to endpoint {assigned[name].name}"
            elif current is not None and current not in ours and not current.startswith("lan"):
                text = f"port {name} is on bridge {current}, which is not ours"
            else:
                assigned[name] = endpoint
                continue
            problems.setdefault(endpoint.index, []).append(text)
    return assigned, problems


def routes(endpoint: Endpoint, reached: Iterable[Remote]) -> Iterator[Route]:
    """On-link routes to the prefixes of remotes that a tunnel leads to, in the main table and in the LAN's own."""
    for remote in reached:
        prefix = str(ip_network(remote.prefix, strict=False))
        yield Route(prefix, bridge_name(endpoint))
        yield Route(prefix, bridge_name(endpoint), TABLES + endpoint.index)


def rules(endpoint: Endpoint) -> Iterator[Rule]:
    """What comes from a LAN, or from its gateway address, is looked up in that LAN's own table first: two LANs of a
    cloudlet may both reach the same remote, each over its own bridge."""
    family = int(AF_INET if ip_network(endpoint.prefix, strict=False).version == 4 else AF_INET6)
    yield Rule(TABLES + endpoint.index, family, interface=bridge_name(endpoint))
    yield Rule(TABLES + endpoint.index, family, source=endpoint.gateway)


def on_bridge(snapshot: Snapshot, endpoint: Endpoint) -> list[str]:
    """The access ports that are on the endpoint's bridge."""
    return sorted(p.name for p in snapshot.ports.values() if p.bridge == bridge_name(endpoint))
