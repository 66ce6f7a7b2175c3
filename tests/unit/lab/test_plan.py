"""The underlay's plan against a naive model: every loopback is reached, by a path of least delay, without loops."""

import ipaddress
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lab.paths import ROOT
from lab.plan import Plan, plan
from lab.topology import Cloudlet, Link, Topology, load


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    cloudlets = tuple(Cloudlet(f"c{n}", "vpls", f"10.255.0.{n}", (), ()) for n in range(1, draw(st.integers(1, 9)) + 1))
    names = ["core", "ctl", "rs1", "rs2", *(cloudlet.name for cloudlet in cloudlets)]
    delays = st.integers(0, 40)
    pairs = {frozenset((name, draw(st.sampled_from(names[:k])))) for k, name in enumerate(names) if k}
    extra = st.sets(st.sampled_from(names), min_size=2, max_size=2).map(frozenset)
    pairs |= set(draw(st.lists(extra, max_size=8)))
    ends = sorted(tuple(sorted(pair)) for pair in pairs)
    links = tuple(Link(a, b, float(draw(delays))) for a, b in ends)
    return Topology(Path("t.yaml"), 65000, "ctl", ("rs1", "rs2"), "core", cloudlets, links, None)


def least_delays(topology: Topology) -> dict[tuple[str, str], float]:
    """Return the least delays by Floyd and Warshall's algorithm."""
    infinity = float("inf")
    distance = {(a, b): 0.0 if a == b else infinity for a in topology.nodes for b in topology.nodes}
    for link in topology.links:
        for pair in ((link.a, link.b), (link.b, link.a)):
            distance[pair] = min(distance[pair], link.delay_ms)
    for k in topology.nodes:
        for a in topology.nodes:
            for b in topology.nodes:
                distance[a, b] = min(distance[a, b], distance[a, k] + distance[k, b])
    return distance


def walk(made: Plan, source: str, target: str) -> float:
    """Follow the routing tables hop by hop; return the delay. Fails on a loop."""
    owner = {port.address: port.node for line in made.lines for port in (line.a, line.b)}
    delay, node, seen = 0.0, source, {source}
    while node != target:
        route = next(route for route in made.routes[node] if route.destination == made.loopbacks[target])
        line = next(line for line in made.lines if route.via in (line.a.address, line.b.address))
        near = line.a if line.b.address == route.via else line.b
        assert (near.node, near.name) == (node, route.interface)
        delay += line.link.delay_ms
        node = owner[route.via]
        assert node not in seen, "a routing loop"
        seen.add(node)
    return delay


@given(topologies())
def test_routes_are_shortest_and_free_of_loops(topology: Topology) -> None:
    made = plan(topology)
    distances = least_delays(topology)
    for a in topology.nodes:
        assert len(made.routes[a]) == len(topology.nodes) - 1
        for b in topology.nodes:
            assert made.delay_ms(a, b) == walk(made, a, b) == distances[a, b]


@given(topologies())
def test_addresses_are_unique(topology: Topology) -> None:
    made = plan(topology)
    addresses = [port.address for line in made.lines for port in (line.a, line.b)] + list(made.loopbacks.values())
    assert len(addresses) == len(set(addresses))
    interfaces = [(port.node, port.name) for line in made.lines for port in (line.a, line.b)]
    assert len(interfaces) == len(set(interfaces))
    for line in made.lines:
        low, high = sorted(ipaddress.IPv4Address(port.address) for port in (line.a, line.b))
        assert int(high) - int(low) == 1
        assert int(low) % 2 == 0


def test_a_bypass_is_a_path_and_no_road() -> None:
    cloudlets = tuple(Cloudlet(f"c{n}", "vpls", f"10.255.0.{n}", (), ()) for n in (1, 2, 3))
    links = [Link(name, "core", 10.0) for name in ("ctl", "rs1", "rs2", "c1", "c2", "c3")]
    links.append(Link("c1", "c2", 1.0, bypass=True))
    made = plan(Topology(Path("t.yaml"), 65000, "ctl", ("rs1", "rs2"), "core", cloudlets, tuple(links), None))
    assert made.delay_ms("c1", "c2") == 20
    assert made.paths("c1") == ("10.255.0.1", "10.254.0.12")
    assert made.paths("c2") == ("10.255.0.2", "10.254.0.13")
    assert made.paths("c3") == ("10.255.0.3",)


def test_the_direct_link_of_the_demo_is_used() -> None:
    made = plan(load(ROOT / "lab" / "topologies" / "demo.yaml"))
    assert made.delay_ms("c1", "c2") == 6
    assert all(x <= y for x, y in pairwise(sorted([made.delay_ms("c1", "c3"), 17.0, 18.0])))
    assert made.delay_ms("c1", "c3") == 17
