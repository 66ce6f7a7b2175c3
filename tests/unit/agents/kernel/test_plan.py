"""Plans against a naive model of the kernel: they reach the desired state, in the right order, and then stop."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.kernel import evpn, lan, vpls
from agents.kernel.operations import (
    AddRoute,
    AddVxlan,
    DeleteLinks,
    DeleteRoute,
    Enslave,
    Operation,
    Release,
    SetLink,
    SetPort,
    WriteSysctl,
    describe,
    index_of,
)
from agents.kernel.plan import plan
from agents.kernel.snapshot import MAIN, TABLES, Bridge, Flood, Port, Route, Rule, Snapshot, Vxlan
from agents.kernel.vpls import Pseudowire
from controller.wire.desired import Desired
from controller.wire.flavours import Flavour
from tests.unit.agents.desires import desired, dual, endpoint, remote, vtep
from tests.unit.agents.kernel_model import after

EMPTY = Snapshot(
    ports={name: Port(name, None) for name in ("lo", "eth0", "md1-a", "md1-b", "md2-a")},
    sysctls={
        "net/ipv4/ip_forward": "0",
        "net/ipv4/conf/all/send_redirects": "1",
        "net/ipv6/conf/all/forwarding": "0",
    },
)


def pseudowire(index: int, site: int) -> Pseudowire:
    return Pseudowire(site, vpls.receive_label(index, site), (9 << 12) | index, vtep(site))


@st.composite
def states(draw: st.DrawFn) -> tuple[Desired, dict[int, frozenset[Pseudowire]]]:
    """Draw a desired state of up to three endpoints, and pseudowires to some of the remotes."""
    endpoints, wires = [], {}
    for index in sorted(draw(st.sets(st.integers(1, 3)))):
        flavour = draw(st.sampled_from(Flavour))
        sites = draw(st.sets(st.integers(10, 14)))
        ipv6 = draw(st.sets(st.sampled_from([index, *sites])))
        some = {site: dual(site) if site in ipv6 else {} for site in (index, *sites)}.__getitem__
        lan4 = draw(st.sampled_from(({}, {"prefix": f"10.{100 + index}.0.0/25", "gateway": f"10.{100 + index}.0.1"})))
        endpoints.append(
            endpoint(
                index,
                index,
                flavour,
                remotes=[remote(endpoint(s, flavour=flavour, **some(s))) for s in sorted(sites)],
                mtu=draw(st.sampled_from((1400, 1450))),
                vtep=draw(st.sampled_from(("192.0.2.1", "192.0.2.200"))),
                ports=draw(
                    st.sampled_from(([f"md{index}-*"], [], ["md1-*", "eth0"], ["eth0.100"], [f"eth0.{index}", "eth0*"]))
                ),
                **lan4,
                **({"vni": 10000 + index} if flavour is Flavour.EVPN else {}),
                **some(index),
            )
        )
        if flavour is Flavour.VPLS:
            wires[index] = frozenset(pseudowire(index, s) for s in sites if draw(st.booleans()))
    return desired(*endpoints), wires


@given(states(), states())
def test_a_plan_leads_there_and_ends(
    one: tuple[Desired, dict[int, frozenset[Pseudowire]]], two: tuple[Desired, dict[int, frozenset[Pseudowire]]]
) -> None:
    """From an empty kernel to one state, to another, and back: after each plan nothing is left to do, and in the end
    the kernel is as before."""
    kernel = EMPTY
    for state in (one, two, (desired(), {})):
        kernel = after(kernel, plan(*state, kernel).operations)
        assert plan(*state, kernel).operations == ()
        assert {v.name for v in kernel.vxlans.values() if v.name.startswith("pw")} == {
            f"pw{index}.{p.ve_id}" for index, wires in state[1].items() for p in wires
        }
        assert set(kernel.bridges) == {f"lan{e.index}" for e in state[0].endpoints}
        assert all(v.isolated for v in kernel.vxlans.values() if v.name.startswith("pw"))
    assert not (kernel.bridges or kernel.vxlans or kernel.routes or kernel.rules)
    assert kernel.ports == EMPTY.ports


@given(states(), states())
def test_order(
    one: tuple[Desired, dict[int, frozenset[Pseudowire]]], two: tuple[Desired, dict[int, frozenset[Pseudowire]]]
) -> None:
    """Routes are deleted before tunnels, and tunnels are added before routes."""
    operations = plan(*two, after(EMPTY, plan(*one, EMPTY).operations)).operations
    order = [DeleteRoute, DeleteLinks, AddVxlan, AddRoute]
    places = [order.index(type(o)) for o in operations if type(o) in order]
    assert places == sorted(places)


def test_another_prefix_keeps_the_routes_to_remotes() -> None:
    renumbered = desired(endpoint(1, prefix="10.77.0.0/24", gateway="10.77.0.1", remotes=[remote(endpoint(2))]))
    operations = plan(renumbered, WIRES, KERNEL).operations
    assert not [o for o in operations if isinstance(o, AddRoute | DeleteRoute)]
    kernel = after(KERNEL, operations)
    assert kernel.bridges["lan1"].addresses == {"10.77.0.1/24"} and kernel.routes == KERNEL.routes
    assert plan(renumbered, WIRES, kernel).operations == ()


def test_a_live_lan_gets_another_mtu_other_ports_and_another_vtep() -> None:
    after_all = endpoint(1, mtu=1400, ports=["eth0"], vtep="192.0.2.77", remotes=[remote(endpoint(2))])
    kernel = after(KERNEL, plan(desired(after_all, vtep="192.0.2.77"), WIRES, KERNEL).operations)
    assert kernel.bridges["lan1"].mtu == kernel.vxlans["pw1.2"].mtu == 1400
    assert kernel.vxlans["pw1.2"].local == "192.0.2.77"
    assert [p.name for p in kernel.ports.values() if p.bridge == "lan1"] == ["eth0"]


JOINED = desired(endpoint(1, remotes=[remote(endpoint(2))]))
WIRES = {1: frozenset({pseudowire(1, 2)})}
KERNEL = after(EMPTY, plan(JOINED, WIRES, EMPTY).operations)


def test_a_vpls_lan_in_full() -> None:
    assert KERNEL.vxlans == {
        "pw1.2": Vxlan(
            "pw1.2", 4098, "192.0.2.1", 1450, "lan1", True, True, True, frozenset({Flood("192.0.2.2", (9 << 12) | 1)})
        )
    }
    bridge = KERNEL.bridges["lan1"]
    assert (bridge.addresses, bridge.up, bridge.mtu) == (frozenset({"10.1.0.1/24"}), True, 1450)
    assert KERNEL.routes == {Route("10.2.0.0/24", "lan1", MAIN), Route("10.2.0.0/24", "lan1", TABLES + 1)}
    assert KERNEL.rules == {Rule(5001, 2, interface="lan1"), Rule(5001, 2, source="10.1.0.1")}
    assert [p.name for p in KERNEL.ports.values() if p.bridge == "lan1"] == ["md1-a", "md1-b"]
    assert KERNEL.sysctls["net/ipv4/ip_forward"] == "1"
    assert KERNEL.sysctls["net/ipv4/conf/lan1/arp_accept"] == "1"
    assert KERNEL.sysctls["net/ipv4/neigh/lan1/retrans_time_ms"] == "40"


def test_a_lan_with_ipv6_in_full() -> None:
    """The LAN's own IPv6 prefix does not depend on the remotes; a remote's IPv6 prefix is not used if the LAN has
    none."""
    remotes = [remote(endpoint(2, **dual(2))), remote(endpoint(3))]
    wires = {1: frozenset({pseudowire(1, 2), pseudowire(1, 3)})}
    kernel = after(EMPTY, plan(desired(endpoint(1, remotes=remotes, **dual(1))), wires, EMPTY).operations)
    assert kernel.bridges["lan1"].addresses == {"10.1.0.1/24", "2001:db8:1::1/64"}
    assert {r.prefix for r in kernel.routes} == {"10.2.0.0/24", "10.3.0.0/24", "2001:db8:2::/64"}
    six = Rule(5001, 10, interface="lan1"), Rule(5001, 10, source="2001:db8:1::1")
    assert kernel.rules == {*KERNEL.rules, *six}
    settings = {path.removeprefix("net/ipv6/conf/"): value for path, value in kernel.sysctls.items()}
    assert settings["all/forwarding"] == settings["lan1/forwarding"] == "1"
    assert settings["lan1/accept_ra"] == settings["lan1/autoconf"] == settings["lan1/disable_ipv6"] == "0"
    assert settings["lan1/accept_untracked_na"] == "1" and settings["lan1/accept_dad"] == "0"
    plain = after(EMPTY, plan(desired(endpoint(1, remotes=remotes)), wires, EMPTY).operations)
    assert {r.prefix for r in plain.routes} == {"10.2.0.0/24", "10.3.0.0/24"} and plain.rules == KERNEL.rules
    assert plain.sysctls["net/ipv6/conf/lan1/disable_ipv6"] == "1"
    assert plain.sysctls["net/ipv6/conf/all/forwarding"] == "0"


def test_gateways_of_a_pool_are_told_apart_on_the_link() -> None:
    addresses = {lan.link_local(lan.mac(f"c{n}", 1)) for n in range(1000)}
    assert len(addresses) == 1000 and all(address.is_link_local for address in addresses)
    assert str(lan.link_local("02:00:5e:00:53:01")) == "fe80::5eff:fe00:5301"


PW = KERNEL.vxlans["pw1.2"]


@pytest.mark.parametrize(
    ("damaged", "repair"),
    [
        (replace(PW, isolated=False), [SetPort("pw1.2", "lan1", True, True)]),
        (replace(PW, bridge=None), [SetPort("pw1.2", "lan1", True, True)]),
        (replace(PW, up=False), [SetLink("pw1.2", up=True)]),
        (replace(PW, mtu=1500), [SetLink("pw1.2", mtu=1450)]),
        (replace(PW, vni=99), [DeleteLinks(("pw1.2",)), AddVxlan(PW)]),
        (replace(PW, local="192.0.2.99"), [DeleteLinks(("pw1.2",)), AddVxlan(PW)]),
    ],
)
def test_only_what_differs_is_changed(damaged: Vxlan, repair: list[Operation]) -> None:
    assert list(plan(JOINED, WIRES, replace(KERNEL, vxlans={"pw1.2": damaged})).operations) == repair


def test_bridge_sysctl_and_port_are_repaired() -> None:
    damaged = replace(
        KERNEL,
        bridges={"lan1": Bridge("lan1", "02:00:00:00:00:00", 1450, True, frozenset({"10.1.0.1/24"}))},
        ports=dict(KERNEL.ports)
        | {"md1-a": Port("md1-a", None), "eth0": Port("eth0", "lan1")}
        | {"wv0a": Port("wv0a", "lan1"), "wv0b": Port("wv0b", None)},
        sysctls=dict(KERNEL.sysctls) | {"net/ipv4/ip_forward": "0"},
    )
    operations = plan(JOINED, WIRES, damaged).operations
    assert Release("eth0") in operations and Enslave("md1-a", "lan1") in operations
    assert not any(isinstance(o, Release | Enslave) and o.name.startswith("wv") for o in operations)
    assert WriteSysctl("net/ipv4/ip_forward", "1") in operations
    assert SetLink("lan1", mac=KERNEL.bridges["lan1"].mac) in operations
    assert len(operations) == 4


def test_neighbour_tables_are_enlarged_where_they_can_be_and_never_made_smaller() -> None:
    small, large = (f"net/{ip}/neigh/default/gc_thresh3" for ip in ("ipv4", "ipv6"))
    settings = dict(KERNEL.sysctls) | {small: "1024", large: "1000000"}
    assert list(plan(JOINED, WIRES, replace(KERNEL, sysctls=settings)).operations) == [WriteSysctl(small, "131072")]
    assert "default/gc_thresh" not in str(plan(JOINED, WIRES, KERNEL).operations), "in a namespace there are none"


def test_evpn_routes_follow_the_flood_entries() -> None:
    """FRR decides which tunnels exist; a route comes and goes with its flood entry, and the plan leaves the entries
    alone."""
    want = desired(endpoint(1, flavour=Flavour.EVPN, remotes=[remote(endpoint(2, flavour=Flavour.EVPN))]))
    kernel = after(EMPTY, plan(want, {}, EMPTY).operations)
    assert kernel.vxlans["vx1"] == replace(evpn.device(want.endpoints[0]), flood=frozenset())
    assert kernel.routes == frozenset()
    filled = replace(kernel, vxlans={"vx1": replace(kernel.vxlans["vx1"], flood=frozenset({Flood(vtep(2), 10000)}))})
    operations = plan(want, {}, filled).operations
    assert [type(o) for o in operations] == [AddRoute, AddRoute]
    emptied = replace(after(filled, operations), vxlans=kernel.vxlans)
    assert [type(o) for o in plan(want, {}, emptied).operations] == [DeleteRoute, DeleteRoute]


def test_ports_that_cannot_be_had_are_said() -> None:
    two = desired(endpoint(1, ports=["md*", "lo"]), endpoint(2, index=2, ports=["md2-*", "virbr-port"]))
    present = dict(EMPTY.ports) | {"virbr-port": Port("virbr-port", "virbr0")}
    outcome = plan(two, {}, replace(EMPTY, ports=present))
    assert outcome.problems == {
        2: ["port md2-a already belongs to endpoint e1", "port virbr-port is on bridge virbr0, which is not ours"]
    }
    assert not any(isinstance(o, Enslave) and o.name in ("lo", "virbr-port") for o in outcome.operations)


def test_two_lans_reach_the_same_remote_by_their_own_tables() -> None:
    far = remote(endpoint(9))
    two = desired(endpoint(1, remotes=[far]), endpoint(2, index=2, remotes=[far]))
    kernel = after(EMPTY, plan(two, {i: frozenset({pseudowire(i, 9)}) for i in (1, 2)}, EMPTY).operations)
    assert {(r.device, r.table) for r in kernel.routes} == {
        ("lan1", MAIN), ("lan1", 5001), ("lan2", MAIN), ("lan2", 5002)
    }  # fmt: skip


@given(states())
def test_operations_have_words_and_an_endpoint(state: tuple[Desired, dict[int, frozenset[Pseudowire]]]) -> None:
    for operation in plan(*state, EMPTY).operations:
        assert describe(operation) and "\n" not in describe(operation)
        assert index_of(operation) in {0, *(e.index for e in state[0].endpoints)}
