"""Endpoints and cloudlets that are changed while they work: ports, MTU, prefix and VTEP reach the kernels of a real
region, of VPLS and of EVPN cloudlets, and packets pass again."""

import json
from collections.abc import Iterator

import pytest

from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest

pytestmark = pytest.mark.lab

BOTH = pytest.mark.parametrize(("one", "other"), [("c1", "c2"), ("e1", "e2")], ids=["vpls", "evpn"])
STATIONS = {"c1": "m1", "c2": "m2", "e1": "n1", "e2": "n2"}


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    found = Region.load(ROOT / "lab/topologies/small.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease):
            phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


def passes(region: Region, source: str, destination: str, size: int = 56) -> bool:
    """Return whether pings of that many bytes, unfragmented, pass between the devices of two cloudlets."""
    words = ["ping", "-M", "do", "-c", "3", "-i", "0.2", "-W", "1", "-s", str(size)]
    address = region.address(STATIONS[destination])
    return region.execute(STATIONS[source], [*words, address]).returncode == 0


def link(region: Region, cloudlet: str, kind: str) -> Json:
    """Return the one interface of a kind at a cloudlet, as `ip` shows it."""
    found = json.loads(region.execute(cloudlet, ["ip", "-d", "-j", "link", "show", "type", kind], check=True).stdout)
    return dict(next(each for each in found if each["ifname"].startswith(("lan", "pw", "vx"))))


def altered(rest: Rest, path: str, body: Json, **query: str) -> Json:
    answer = rest.patch(path, body, **query)
    assert answer["in_force"], answer
    return answer


@BOTH
def test_a_live_lan_gets_other_ports(region: Region, rest: Rest, one: str, other: str) -> None:
    lan = f"/endpoints/{one}-lan"
    ports = rest.get(lan)["ports"]
    until(lambda: passes(region, one, other), "the devices reach each other")
    told = altered(rest, lan, {"ports": ["nothing*"]})
    assert any("leave the LAN" in each["what"] for each in told["interrupted"]), told
    until(lambda: not passes(region, one, other), "the device is off its LAN")
    altered(rest, lan, {"ports": ports})
    until(lambda: passes(region, one, other), "the device is on its LAN again")


@BOTH
def test_a_live_lan_gets_another_mtu(region: Region, rest: Rest, one: str, other: str) -> None:
    for cloudlet in (one, other):
        altered(rest, f"/endpoints/{cloudlet}-lan", {"mtu": 1400})
    for cloudlet in (one, other):
        until(lambda at=cloudlet: link(region, at, "bridge")["mtu"] == 1400, "the bridge has the new MTU")  # type: ignore[misc]
        assert link(region, cloudlet, "vxlan")["mtu"] == 1400
    until(lambda: passes(region, one, other, 1400 - 28), "packets of the new length pass")
    assert not passes(region, one, other, 1400 - 28 + 1)
    for cloudlet in (one, other):
        altered(rest, f"/endpoints/{cloudlet}-lan", {"mtu": None})
        until(lambda at=cloudlet: link(region, at, "bridge")["mtu"] == 1450, "the default MTU is back")  # type: ignore[misc]


@BOTH
def test_a_cloudlet_gets_another_vtep(region: Region, rest: Rest, one: str, other: str) -> None:
    """Its host has the new address before; the sessions and tunnels come back from there, and back again."""
    before = str(rest.get(f"/cloudlets/{one}")["vtep"])
    first, _, last = before.rpartition(".")
    after = f"{first}.{int(last) ^ 64}"
    _reach_as(region, one, before, after)
    until(lambda: passes(region, one, other), "the devices reach each other")
    for vtep in (after, before):
        rest.patch(f"/cloudlets/{one}", {"vtep": vtep})  # sessions begin anew, which may outlast the wait for agents
        until(lambda to=vtep: _local(region, one) == to, "the tunnels start there")  # type: ignore[misc]
        until(lambda: passes(region, one, other), f"the devices reach each other by {vtep}", 60)
        # gobgpd works on with its former identifier.
        until(lambda: all("restart weft-gobgpd" in str(each) for each in _differences(rest)), "it is well else", 60)
        if vtep == after and one.startswith("c"):
            until(lambda: _differences(rest), "the doctor names the identifier")
            region.processes[f"{one}-gobgpd"].kill()
            region.processes[f"{one}-gobgpd"].start()
            until(lambda: not _differences(rest), "the doctor finds nothing after a restart", 60)


def _differences(rest: Rest) -> list[Json]:
    return list(rest.get("/doctor")["differences"])


def _local(region: Region, cloudlet: str) -> str:
    return str(link(region, cloudlet, "vxlan")["linkinfo"]["info_data"]["local"])


def _reach_as(region: Region, cloudlet: str, before: str, after: str) -> None:
    """Give a cloudlet's host a further address, with the routes of the present one."""
    region.execute(cloudlet, ["ip", "addr", "add", f"{after}/32", "dev", "lo"], check=True)
    for node in region.topology.nodes:
        found = json.loads(region.execute(node, ["ip", "-j", "route", "show", f"{before}/32"], check=True).stdout)
        for route in found:
            words = ["ip", "route", "replace", f"{after}/32", "via", route["gateway"], "dev", route["dev"]]
            region.execute(node, words, check=True)


@BOTH
def test_a_vtep_on_trial_goes_back_by_itself(region: Region, rest: Rest, one: str, other: str) -> None:
    """The host does not have the address: without a confirmation, the cloudlet is reached as before."""
    before = str(rest.get(f"/cloudlets/{one}")["vtep"])
    first, _, last = before.rpartition(".")
    tried = rest.patch(f"/cloudlets/{one}", {"vtep": f"{first}.{int(last) ^ 64}"}, confirm_within="8")
    assert tried["confirm_by"]
    until(lambda: rest.get(f"/cloudlets/{one}")["vtep"] == before, "the former VTEP is back", 30)
    until(lambda: passes(region, one, other), "the devices reach each other", 60)


@BOTH
def test_a_lan_without_clients_gets_another_prefix(region: Region, rest: Rest, one: str, other: str) -> None:
    """The gateway, and the routes of the other members, are those of the new prefix."""
    name = f"{one}-more"
    rest.post("/endpoints", {"name": name, "cloudlet": one, "prefix": "10.91.0.0/24", **_vni(one)})
    altered(rest, f"/endpoints/{name}", {"prefix": "10.92.0.0/24", "prefix6": "2001:db8:92::/64"})

    def addresses() -> str:
        return region.execute(one, ["ip", "-o", "addr", "show"], check=True).stdout

    until(lambda: "10.92.0.1/24" in addresses() and "2001:db8:92::1/64" in addresses(), "the gateway has moved")
    assert "10.91.0.1/24" not in addresses()
    rest.delete(f"/endpoints/{name}")


def _vni(cloudlet: str) -> Json:
    return {"vni": 10077} if cloudlet.startswith("e") else {}
