"""An endpoint's LAN: the bridge with the gateway address, its sysctls, and the on-link routes to remotes. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv6Address, ip_interface, ip_network
from socket import AF_INET, AF_INET6

from agents.kernel.snapshot import TABLES, Bridge, Route, Rule
from controller.wire.desired import Desired, Endpoint, Remote, gateway_mac
from controller.wire.flavours import Flavour

METRIC = 100
"""Metric of on-link routes, plus the endpoint's index."""


NEIGHBOURS = 131_072
"""Entries of the neighbour tables of each family. Tables take memory only as they fill."""


def bridge_name(endpoint: Endpoint) -> str:
    """Return the bridge's interface name."""
    return f"lan{endpoint.index}"


def tunnel_pattern(endpoint: Endpoint) -> str:
    """Return the pattern of the endpoint's tunnel ports: one name, or a prefix that ends in `*`."""
    return f"pw{endpoint.index}.*" if endpoint.flavour is Flavour.VPLS else f"vx{endpoint.index}"


def mac(cloudlet: str, index: int) -> str:
    """Return the bridge's MAC address, which is the gateway's."""
    return gateway_mac(cloudlet, index)


def link_local(mac: str) -> IPv6Address:
    """Return the bridge's link-local address, which follows from its MAC (RFC 4291, appendix A). The LAN's devices know
    the router by this address, so two gateways of one pool must not share one such as fe80::1."""
    octets = bytes.fromhex(mac.replace(":", ""))
    identifier = bytes((octets[0] ^ 2,)) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return IPv6Address(b"\xfe\x80" + bytes(6) + identifier)


def gateways(endpoint: Endpoint) -> dict[int, str]:
    """Return the cloudlet's own addresses on the LAN, in CIDR form, by IP version."""
    pairs = ((endpoint.gateway, endpoint.prefix), (endpoint.gateway6, endpoint.prefix6))
    found = (ip_interface(f"{gateway}/{prefix.rpartition('/')[2]}") for gateway, prefix in pairs if gateway and prefix)
    return {interface.version: str(interface) for interface in found}


def bridge(cloudlet: str, endpoint: Endpoint) -> Bridge:
    """Return the desired bridge."""
    return Bridge(
        name=bridge_name(endpoint),
        mac=mac(cloudlet, endpoint.index),
        mtu=endpoint.mtu,
        up=True,
        addresses=frozenset(gateways(endpoint).values()),
    )


def sysctls(endpoint: Endpoint) -> Mapping[str, str]:
    """Return the settings of the bridge by path below /proc/sys.

    The gateway learns addresses from gratuitous ARP (and unsolicited NA); otherwise a moved VM would be unreachable
    until its neighbour entry expires. The gateway repeats a neighbour request after 40 ms (which kernels of every tick
    rate can count), up to ten times, so that the first packet over a new tunnel does not wait for a second, whatever
    the distance. The gateway sends no redirects, because devices reach other prefixes through it although all is on one
    link (IPv6 has no such setting; the fence drops those redirects).

    With IPv6 the bridge is a router. Its neighbour advertisements say so too, or devices would not keep it as their
    router. It ignores the advertisements of other routers, and uses its addresses without duplicate address detection:
    the plan says that they are its own, and a device that answers for them must not take the LAN's gateway down.
    """
    name = bridge_name(endpoint)
    if 6 not in gateways(endpoint):
        ipv6 = {"disable_ipv6": "1"}
    else:
        ipv6 = {
            "addr_gen_mode": "0",  # the link-local address from the MAC
            "accept_dad": "0",
            "accept_ra": "0",
            "autoconf": "0",
            "accept_redirects": "0",
            "forwarding": "1",
            "disable_ipv6": "0",
        }
    return {
        f"net/ipv4/conf/{name}/arp_accept": "1",
        f"net/ipv4/conf/{name}/send_redirects": "0",
        f"net/ipv4/neigh/{name}/retrans_time_ms": "40",
        f"net/ipv4/neigh/{name}/mcast_solicit": "10",
        f"net/ipv6/neigh/{name}/retrans_time_ms": "40",
        f"net/ipv6/neigh/{name}/mcast_solicit": "10",
        f"net/ipv6/conf/{name}/accept_untracked_na": "1",
        **{f"net/ipv6/conf/{name}/{key}": value for key, value in ipv6.items()},
    }


def router_sysctls(desired: Desired) -> Mapping[str, str]:
    """Return the settings of the whole network namespace; none while there is no endpoint."""
    if not desired.endpoints:
        return {}
    settings = {"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/send_redirects": "0"}
    if any(6 in gateways(e) for e in desired.endpoints):
        settings["net/ipv6/conf/all/forwarding"] = "1"
    return settings


def neighbour_tables() -> Mapping[str, int]:
    """Return the smallest sizes of the neighbour tables, by path below /proc/sys: the number of entries above which the
    kernel removes unused ones, and the number that it keeps at most. The whole machine shares these tables, and the
    default is 1,024. A cloudlet's devices need more, and one port may have as many to itself (agents/fence/budgets.py).
    Network namespaces other than the first do not have these settings."""
    least = {"gc_thresh2": NEIGHBOURS // 2, "gc_thresh3": NEIGHBOURS}
    return {f"net/{ip}/neigh/default/{name}": value for ip in ("ipv4", "ipv6") for name, value in least.items()}


def routes(endpoint: Endpoint, reached: Iterable[Remote]) -> Iterator[Route]:
    """Yield the on-link routes to the prefixes of remotes that a tunnel leads to, in the main table and in the LAN's
    own, for the IP versions that the LAN has itself."""
    families = gateways(endpoint)
    for remote in reached:
        for text in (remote.prefix, remote.prefix6):
            prefix = ip_network(text, strict=False) if text else None
            if prefix is not None and prefix.version in families:
                yield Route(str(prefix), bridge_name(endpoint))
                yield Route(str(prefix), bridge_name(endpoint), TABLES + endpoint.index)


def rules(endpoint: Endpoint) -> Iterator[Rule]:
    """Yield the rules that look up packets from a LAN, or from its gateway address, in that LAN's own table first: two
    LANs of a cloudlet may both reach the same remote, each over its own bridge."""
    for version, gateway in gateways(endpoint).items():
        family = int(AF_INET if version == 4 else AF_INET6)
        yield Rule(TABLES + endpoint.index, family, interface=bridge_name(endpoint))
        yield Rule(TABLES + endpoint.index, family, source=str(ip_interface(gateway).ip))
