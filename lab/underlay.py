"""The region below the fabric: namespaces, cables, addresses, static routes, the WAN's emulation, devices' wires."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lab import neighbour_tables, netns, wan
from lab.plan import Plan
from lab.topology import Topology

T = TypeVar("T")

WORKERS = 6  # enough to keep two cores busy; more only queue in the kernel's network lock

ROUTER = {
    "net.ipv4.ip_forward": "1",
    # A frame may come in over another link than the one its answer leaves by; strict filtering would drop it.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
}
STATION = {"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.default.rp_filter": "0"}
MPTCP = {"net.mptcp.blackhole_timeout": "0", "net.mptcp.syn_retrans_before_tcp_fallback": "6"}
"""Settings for a device that walks. If SYNs are lost for a while, Linux (6.12 and later) believes that a firewall
blocks Multipath TCP, and then uses none for an hour, on any connection. A device that walks loses some SYNs now and
then."""


def station_node(cloudlet: str, station: str) -> str:
    """Return the node name of a device or VM."""
    return f"{cloudlet}-{station}"


def nodes(topology: Topology) -> list[str]:
    """Return every node that gets a namespace, including the relay's."""
    stations = (station_node(cloudlet.name, station.name) for cloudlet, station in topology.stations)
    return [*topology.nodes, "wan", *stations]


def lay(topology: Topology, plan: Plan, emulator: wan.Emulator) -> None:
    """Lay cables, addresses and routes in namespaces that exist and are empty."""
    neighbour_tables.enlarge()
    cables = wan.cables(plan.lines, emulator)
    for cloudlet, station in topology.stations:
        port = (netns.PREFIX + cloudlet.name, port_name(topology, station.name))
        cables.append((port, (netns.PREFIX + station_node(cloudlet.name, station.name), "eth0")))
    netns.cables(cables)
    parallel(lambda node: _configure_node(node, topology, plan), topology.nodes)
    parallel(lambda name: _configure_station(name, topology), [station.name for _, station in topology.stations])


def port_name(topology: Topology, station: str) -> str:
    """Return the cloudlet's side of a device's wire: `l{index of the endpoint}-{station}`."""
    cloudlet, found = next(pair for pair in topology.stations if pair[1].name == station)
    return f"l{cloudlet.endpoint(found.endpoint).index}-{found.name}"


def parallel(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Do `work` for every item, a few at a time; raise the first failure after all have ended."""
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in [pool.submit(work, item) for item in items]:
            done.result()


def _configure_node(node: str, topology: Topology, plan: Plan) -> None:
    loopback = plan.loopbacks[node]
    lines = [f"addr add {loopback}/32 dev lo"]
    sysctl = dict(ROUTER)
    plain = []
    for line in plan.lines:
        for port in (line.a, line.b):
            if port.node == node:
                sysctl[f"net.ipv6.conf.{port.name}.disable_ipv6"] = "1"
                lines += [f"addr add {port.address}/31 dev {port.name}", f"link set {port.name} up"]
                plain.append(port.name)
    for route in plan.routes[node]:
        lines.append(f"route add {route.destination}/32 via {route.via} dev {route.interface} src {loopback}")
    for cloudlet, station in topology.stations:
        if cloudlet.name == node:
            name = port_name(topology, station.name)
            lines.append(f"link set {name} up")
            plain.append(name)
    netns.configure(netns.PREFIX + node, sysctl=sysctl, ip=lines, plain=plain)


def _configure_station(name: str, topology: Topology) -> None:
    cloudlet, station = next(pair for pair in topology.stations if pair[1].name == name)
    lines = [f"link set eth0 address {station.mac}", "link set eth0 up"]
    where = netns.PREFIX + station_node(cloudlet.name, name)
    netns.configure(where, sysctl=STATION | netns.known(MPTCP), ip=lines, plain=["eth0"])
