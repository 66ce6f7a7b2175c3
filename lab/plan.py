"""The underlay's plan: loopback and link addresses, interface names and shortest-delay routes. Pure arithmetic.

Loopbacks are /32: a cloudlet's is its VTEP, the others' are in 10.255.255.0/24. A link is a /31 of 10.254.0.0/16.
"""

import heapq
import ipaddress
from dataclasses import dataclass

from lab.topology import Cloudlet, Link, Topology

LINKS = ipaddress.IPv4Network("10.254.0.0/16")
INFRASTRUCTURE = ipaddress.IPv4Network("10.255.255.0/24")


@dataclass(frozen=True)
class Port:
    """One end of a link: interface `name` of `node`, with its address in the link's /31."""

    node: str
    name: str
    address: str


@dataclass(frozen=True)
class Line:
    """A link with its two ends; `number` counts from 0."""

    number: int
    link: Link
    a: Port
    b: Port


@dataclass(frozen=True)
class Route:
    """A route to a loopback through a neighbour, with `delay_ms` one way."""

    destination: str
    via: str
    interface: str
    delay_ms: float


@dataclass(frozen=True)
class Plan:
    loopbacks: dict[str, str]
    lines: tuple[Line, ...]
    routes: dict[str, tuple[Route, ...]]

    def delay_ms(self, a: str, b: str) -> float:
        """Return the one-way delay from node a to node b over the shortest path."""
        return next((route.delay_ms for route in self.routes[a] if route.destination == self.loopbacks[b]), 0.0)

    def paths(self, cloudlet: str) -> tuple[str, ...]:
        """Return the addresses by which other cloudlets reach this one: its VTEP, then its ends of bypasses."""
        ends = [port for line in self.lines if line.link.bypass for port in (line.a, line.b)]
        return (self.loopbacks[cloudlet], *(port.address for port in ends if port.node == cloudlet))


def plan(topology: Topology) -> Plan:
    """Return the addresses and routes for a topology whose nodes are connected."""
    infrastructure = (topology.controller, *topology.route_servers, topology.core)
    loopbacks = {name: str(INFRASTRUCTURE[k]) for k, name in enumerate(infrastructure, start=1)}
    loopbacks |= {cloudlet.name: cloudlet.vtep for cloudlet in topology.cloudlets}
    ports = dict.fromkeys(topology.nodes, 0)
    lines = []
    for number, link in enumerate(topology.links):
        ends = []
        for side, node in enumerate((link.a, link.b)):
            ends.append(Port(node, f"wan{ports[node]}", str(LINKS[2 * number + side])))
            ports[node] += 1
        lines.append(Line(number, link, ends[0], ends[1]))
    roads = [line for line in lines if not line.link.bypass]
    routes = {node: _routes(node, loopbacks, roads) for node in topology.nodes}
    return Plan(loopbacks, tuple(lines), routes)


def hosts(topology: Topology, plan: Plan) -> list[Cloudlet]:
    """Return the hosts of route servers, which enrol in a region that encrypts, so that BGP is encrypted as well."""
    names = topology.route_servers if topology.ipsec else ()
    return [Cloudlet(name, "vpls", plan.loopbacks[name], (), ()) for name in names]


def _routes(source: str, loopbacks: dict[str, str], lines: list[Line]) -> tuple[Route, ...]:
    """Return Dijkstra's shortest paths by delay, then hops, then name, so that ties have the same result each time."""
    neighbours: dict[str, list[tuple[Line, Port, Port]]] = {node: [] for node in loopbacks}
    for line in lines:
        neighbours[line.a.node].append((line, line.a, line.b))
        neighbours[line.b.node].append((line, line.b, line.a))
    routes: dict[str, Route] = {}
    queue: list[tuple[float, int, str, str, str]] = [(0.0, 0, source, "", "")]
    settled: set[str] = set()
    while queue:
        delay, hops, node, via, interface = heapq.heappop(queue)
        if node in settled:
            continue
        settled.add(node)
        if node != source:
            routes[node] = Route(loopbacks[node], via, interface, delay)
        for line, near, far in neighbours[node]:
            first = (via, interface) if via else (far.address, near.name)
            heapq.heappush(queue, (delay + line.link.delay_ms, hops + 1, far.node, *first))
    return tuple(routes[node] for node in sorted(routes))
