"""VLANs of a trunk as access ports: which interfaces they are, which the agent makes, and which it removes."""

from dataclasses import replace

import pytest

from agents.kernel.operations import AddBridge, AddVlan, DeleteLinks, Enslave, Operation, Release, describe, index_of
from agents.kernel.plan import plan
from agents.kernel.ports import as_named, on_bridge
from agents.kernel.snapshot import Port, Snapshot
from agents.kernel.vlans import Vlan, parse
from tests.unit.agents.desires import desired, endpoint
from tests.unit.agents.kernel_model import after

TAGGED = Vlan("eth1", 100)
MADE = Port("eth1.100", "lan1", TAGGED, made=True)


def kernel(*ports: Port) -> Snapshot:
    return Snapshot(ports={port.name: port for port in (Port("lo", None), Port("eth1", None), *ports)})


def about_ports(operations: tuple[Operation, ...]) -> list[Operation]:
    return [o for o in operations if isinstance(o, AddVlan | DeleteLinks | Enslave | Release)]


@pytest.mark.parametrize(
    ("port", "vlan"),
    [
        ("eth1.100", Vlan("eth1", 100)),
        ("bond0.20.4094", Vlan("bond0.20", 4094)),
        ("enp129s0f0np0.7", Vlan("enp129s0f0np0", 7)),
        *((port, None) for port in ("eth1", "eth1.0", "eth1.4095", "eth1.010", "eth*.100", "eth[12].5", ".5", "eth1.")),
    ],
)
def test_a_port_names_a_vlan_of_a_trunk(port: str, vlan: Vlan | None) -> None:
    assert parse(port) == vlan


@pytest.mark.parametrize("port", ["eth1.1", "enp129s0f0np0.4094", "abcdefghijklmno.20"])
def test_its_interface_has_a_name_that_the_kernel_takes(port: str) -> None:
    vlan = parse(port)
    assert vlan is not None and len(vlan.device) <= 15
    assert vlan.device.endswith(f".{vlan.vid}") and port.endswith(vlan.device)


def test_a_vlan_is_made_on_its_endpoints_bridge_and_removed_with_it() -> None:
    want = desired(endpoint(1, ports=["eth1.100"]))
    operations = plan(want, {}, kernel()).operations
    add = AddVlan(TAGGED, "lan1")
    assert about_ports(operations) == [add] and index_of(add) == 1
    assert operations.index(add) > next(i for i, o in enumerate(operations) if isinstance(o, AddBridge))
    assert describe(add) == "add eth1.100, VLAN 100 of eth1, to lan1"
    made = after(kernel(), operations)
    assert made.ports["eth1.100"] == MADE and plan(want, {}, made).operations == ()
    for without in (desired(endpoint(1, ports=[])), desired(endpoint(1, ports=["eth1*"])), desired()):
        assert DeleteLinks(("eth1.100",)) in plan(without, {}, made).operations
        assert "eth1.100" not in after(made, plan(without, {}, made).operations).ports


def test_it_moves_to_the_endpoint_that_names_it() -> None:
    one, two = endpoint(1, ports=["eth1.100"]), endpoint(2, index=2, ports=[])
    made = after(kernel(), plan(desired(one, two), {}, kernel()).operations)
    other = desired(endpoint(1, ports=[]), endpoint(2, index=2, ports=["eth1.100"]))
    assert about_ports(plan(other, {}, made).operations) == [Enslave("eth1.100", "lan2")]


def test_a_pattern_takes_no_vlan_from_the_endpoint_that_names_it() -> None:
    """And a trunk may be an access port itself, with the frames that have no tag."""
    want = desired(endpoint(1, ports=["eth*"]), endpoint(2, index=2, ports=["eth1.100"]))
    made = after(kernel(), plan(want, {}, kernel()).operations)
    assert {name: port.bridge for name, port in made.ports.items() if port.bridge} == {
        "eth1": "lan1",
        "eth1.100": "lan2",
    }
    assert plan(want, {}, made).operations == () and plan(want, {}, made).problems == {}


@pytest.mark.parametrize(
    "there",
    [
        Port("eth1.100", None, TAGGED),
        Port("office", None, TAGGED),
        Port("eth1.100", None),
        Port("eth1.100", None, Vlan("eth7", 3)),
    ],
)
def test_an_interface_that_somebody_else_made_is_used_and_stays(there: Port) -> None:
    want = desired(endpoint(1, ports=["eth1.100"]))
    operations = plan(want, {}, kernel(there)).operations
    assert about_ports(operations) == [Enslave(there.name, "lan1")]
    left = plan(desired(endpoint(1, ports=[])), {}, after(kernel(there), operations)).operations
    assert about_ports(left) == [Release(there.name)]


def test_a_report_calls_it_as_the_endpoint_does() -> None:
    one = endpoint(1, ports=["eth1.100", "of*"])
    there = kernel(Port("office", "lan1", TAGGED), Port("offline.7", "lan1", Vlan("offline", 7)))
    assert (as_named(there, one), on_bridge(there, one)) == (["eth1.100", "offline.7"], ["office", "offline.7"])


def test_one_that_has_become_another_vlan_is_made_anew() -> None:
    """Somebody has renamed the trunk, and another interface has its name."""
    stale = replace(MADE, vlan=Vlan("eth7", 100))
    want = desired(endpoint(1, ports=["eth1.100"]))
    operations = plan(want, {}, kernel(Port("eth7", None), stale)).operations
    assert about_ports(operations) == [DeleteLinks(("eth1.100",)), AddVlan(TAGGED, "lan1")]


def test_what_cannot_be_a_port_is_said_and_hurts_no_other_endpoint() -> None:
    want = desired(
        endpoint(1, ports=["eth9.5", "eth1.100"]),
        endpoint(2, index=2, ports=["eth1.100", "lan1.5", "eth1.7"]),
        endpoint(3, index=3, ports=["enp129s0f0np0.20", "xenp129s0f0np0.20", "enp129s0f0np0.30"]),
    )
    trunks = [Port(name, None) for name in ("enp129s0f0np0", "xenp129s0f0np0")]
    outcome = plan(want, {}, kernel(*trunks, Port("np129s0f0np0.30", None)))
    assert outcome.problems == {
        1: ["port eth9.5 has no interface: there is no eth9"],
        2: ["port eth1.100 already belongs to endpoint e1", "port lan1.5 has no interface: there is no lan1"],
        3: [
            "port xenp129s0f0np0.20 has no interface: another one is called np129s0f0np0.20",
            "port enp129s0f0np0.30 has no interface: another one is called np129s0f0np0.30",
        ],
    }
    made = [(str(o.vlan), o.bridge) for o in outcome.operations if isinstance(o, AddVlan)]
    assert made == [("eth1.100", "lan1"), ("eth1.7", "lan2"), ("enp129s0f0np0.20", "lan3")]
