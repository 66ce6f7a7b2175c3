"""Hosts of route servers: a host that enrols as one has no PE, and protects BGP with all enrolled cloudlets."""

from dataclasses import replace

import pytest

from controller.core import edits
from controller.core.affected import concerned
from controller.core.desired import Fabric, desired
from controller.core.doctor.kernels import Cloudlet as Diagnosed
from controller.core.doctor.tunnels import compare_tunnels
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.core.refusals import Refused
from controller.core.rulesets import operations, rule_set
from controller.core.tunnels import peers
from controller.wire.desired import Protected, Speaker
from controller.wire.flavours import Flavour
from controller.wire.rulesets import RemovePeer, SetPeer
from controller.wire.tunnels import Ipsec, IpsecTunnel
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_agent import FakeAgent

ASN = 64512
SERVERS = {"rs1": "198.51.100.1", "rs2": "198.51.100.2"}
FABRIC = Fabric(ASN, tuple(Speaker(name=n, address=a, asn=ASN) for n, a in SERVERS.items()))


def cloudlet(name: str, vtep: str, *, enrolled: bool = True) -> Cloudlet:
    return Cloudlet(name, Flavour.VPLS, vtep, CloudletState.ACTIVE, credential=f"of {name}" if enrolled else None)


PES = {name: cloudlet(name, f"192.0.2.{number}") for number, name in enumerate(("c1", "c2"), start=1)}
MANUAL = cloudlet("c3", "192.0.2.3", enrolled=False)
HOST = cloudlet("rs1", SERVERS["rs1"])
REGION = Intent(cloudlets={**PES, "c3": MANUAL, "rs1": HOST}, route_servers=SERVERS)


def protects(intent: Intent, name: str) -> list[str]:
    return [p.name for p in desired(intent, intent.cloudlets[name], FABRIC).protected]


def test_a_host_protects_all_who_have_enrolled_and_has_no_speakers() -> None:
    document = desired(REGION, HOST, FABRIC)
    assert document.speakers == [] and document.endpoints == []
    assert document.protected == [Protected(name=n, address=c.vtep) for n, c in PES.items()]


def test_who_has_enrolled_protects_the_hosts() -> None:
    document = desired(REGION, PES["c1"], FABRIC)
    assert document.protected == [Protected(name="rs1", address=SERVERS["rs1"])], "rs2's host has not enrolled"
    assert [speaker.name for speaker in document.speakers] == ["rs1", "rs2"]
    assert protects(REGION, "c3") == [], "without an agent there is nobody to protect it"


@pytest.mark.parametrize(
    "other",
    [
        replace(HOST, state=CloudletState.INVITED, credential=None),
        replace(HOST, credential=None),
        replace(HOST, revoked=True, credential=None),
        replace(HOST, vtep="192.0.2.9"),
    ],
    ids=["invited", "no agent", "revoked", "elsewhere"],
)
def test_without_a_host_that_has_enrolled_nothing_is_protected(other: Cloudlet) -> None:
    assert protects(REGION.with_cloudlet(other), "c1") == []


def test_a_revoked_cloudlet_is_let_go() -> None:
    intent = REGION.with_cloudlet(replace(PES["c1"], revoked=True, credential=None))
    assert protects(intent, "rs1") == ["c2"] and protects(intent, "c1") == []
    assert concerned(REGION, intent) == {"c1", "rs1"}
    assert concerned(intent, REGION) == {"c1", "rs1"}


def test_a_host_that_comes_or_goes_concerns_all_who_have_enrolled() -> None:
    without = REGION.without_cloudlet("rs1")
    assert concerned(without, REGION) == {"rs1", "c1", "c2"} == concerned(REGION, without)


def test_route_servers_know_no_hosts() -> None:
    assert [peer.name for peer in rule_set(REGION, ASN).peers] == ["c1", "c2", "c3"]
    assert operations(REGION.without_cloudlet("rs1"), REGION, ASN) == []


def test_where_all_have_to_enrol_route_servers_know_those_alone_who_have() -> None:
    strict = replace(REGION, enrolled_only=True)
    assert [peer.name for peer in rule_set(strict, ASN).peers] == ["c1", "c2"]
    assert desired(strict, MANUAL, FABRIC).speakers == []
    enrolled = strict.with_cloudlet(replace(MANUAL, credential="of c3"))
    (added,) = operations(strict, enrolled, ASN)
    (removed,) = operations(enrolled, strict, ASN)
    assert isinstance(added, SetPeer) and added.peer.name == "c3"
    assert isinstance(removed, RemovePeer) and removed.name == "c3"


def test_they_need_tunnels() -> None:
    assert peers(REGION, "c1") == {"rs1"} and peers(REGION, "rs1") == {"c1", "c2"} and peers(REGION, "c3") == set()


def refused(intent: Intent, wanted: Cloudlet) -> str:
    with pytest.raises(Refused) as caught:
        edits.add_cloudlet(intent, wanted, SERVERS.values())
    return caught.value.message


def test_a_host_has_the_name_and_the_address_of_its_route_server() -> None:
    there = edits.add_cloudlet(REGION, cloudlet("rs2", SERVERS["rs2"]), SERVERS.values())
    assert there.is_host(there.cloudlets["rs2"])
    address = refused(REGION, cloudlet("c9", SERVERS["rs2"]))
    assert address == "198.51.100.2 is the address of route server rs2: its host has that name"
    assert (
        refused(REGION, cloudlet("rs2", "192.0.2.9")) == "rs2 is a route server, and its host has the VTEP 198.51.100.2"
    )


def test_a_host_has_no_lans() -> None:
    lan = Endpoint("lan", "rs1", 0, 0, "10.1.0.0/24", "")
    with pytest.raises(Refused, match="rs1 is the host of a route server, and has no PE"):
        edits.add_endpoint(REGION, lan, SERVERS.values())


async def test_from_the_invitation_to_the_tunnel(controller: Controller) -> None:
    one = await controller.agent("c1", 1)
    before = one.documents[-1]
    server = before.speakers[0]
    made = await controller.post("/cloudlets", {"name": server.name, "pe": "vpls", "vtep": server.address})
    host = FakeAgent(controller.http, await controller.enrol(server.name, made["token"]))
    await controller.follow(host)
    document = await host.document(0)
    assert [p.name for p in document.protected] == ["c1"] and document.speakers == []
    document = await one.document(before.version + 1)
    assert document.protected == [Protected(name=server.name, address=server.address)]
    missing = IpsecTunnel(cloudlet=server.name, local="192.0.2.1", remote=server.address, state="down", age=60)
    report = kernel(document).model_copy(update={"ipsec": Ipsec(tunnels=[missing])})
    assert (await one.report(report)).status_code == 204
    await controller.region.agents.tunnels.flush()
    await controller.region.agents.tunnels.sweep()
    [event] = [e for e in (await controller.get("/events"))["items"] if e["type"] == "tunnel-down"]
    assert event["text"].startswith(f"no tunnel between c1 and {server.name}, for BGP")
    assert [peer.name for peer in controller.region.changes.flow.rules().peers] == ["c1"]


@pytest.mark.parametrize(("age", "told"), [(1.9, False), (2.0, True)], ids=["being made", "missing"])
def test_the_doctor_names_a_tunnel_that_bgp_lacks(age: float, told: bool) -> None:
    missing = IpsecTunnel(cloudlet="rs1", local="192.0.2.1", remote=SERVERS["rs1"], state="down", age=age)
    document = desired(REGION, PES["c1"], FABRIC)
    report = kernel(document).model_copy(update={"ipsec": Ipsec(tunnels=[missing])})
    found = [d.text for d in compare_tunnels([Diagnosed(document, report, connected=True)])]
    assert found == (["c1 has no encrypted tunnel to rs1, and BGP with it goes through one."] if told else [])
