"""Topology files: the default values, and errors that name file, line and column."""

from pathlib import Path

import pytest

from lab.errors import LabError
from lab.paths import ROOT
from lab.topology import load

SHIPPED = sorted(
    path for path in (ROOT / "lab" / "topologies").glob("*.yaml") if not path.name.endswith(".policy.yaml")
)

GOOD = """\
apiVersion: weft/v1
cloudlets:
  - name: c1
    endpoints:
      - {name: c1-lan, prefix: 10.1.0.0/24}
      - {name: c1-iot, prefix: 10.101.0.0/28, prefix6: "2001:db8:101::/64"}
    devices: [{name: m1, endpoint: c1-iot, client_id: "00aabb"}]
  - name: c2
    pe: evpn
    endpoints: [{name: c2-lan, prefix: 10.2.0.0/24, vni: 5000}]
    vms: [{name: v1, endpoint: c2-lan, device: m1, mac: "02:00:00:00:00:09"}]
links:
  - {between: [ctl, core]}
  - {between: [rs1, core]}
  - {between: [rs2, core]}
  - {between: [c1, core], delay_ms: 5, jitter_ms: 1, loss_percent: 0.5, rate_mbit: 100}
  - {between: [c2, core], delay_ms: 7}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_topologies_load(path: Path) -> None:
    topology = load(path)
    assert topology.policy and topology.policy.is_file()
    moving = {"evpn"} if path.stem == "move-evpn" else {"vpls"}
    assert {cloudlet.pe for cloudlet in topology.cloudlets} == (
        moving if topology.machines or (topology.stores and not topology.ipsec) else {"vpls", "evpn"}
    )


def test_only_some_regions_encrypt(tmp_path: Path) -> None:
    assert {path.stem for path in SHIPPED if load(path).ipsec} == {"ipsec", "move-ipsec"}
    assert load(write(tmp_path, GOOD.replace("cloudlets:", "region: {ipsec: true}\ncloudlets:", 1))).ipsec
    with pytest.raises(LabError, match="2:17"):
        load(write(tmp_path, GOOD.replace("cloudlets:", "region: {ipsec: 1}\ncloudlets:", 1)))


def test_a_cloudlet_may_have_a_place(tmp_path: Path) -> None:
    placed = GOOD.replace("  - name: c2\n", "  - name: c2\n    at: [45.07, -7.5]\n")
    assert [cloudlet.at for cloudlet in load(write(tmp_path, placed)).cloudlets] == [None, (45.07, -7.5)]
    for wrong in ("[45.07]", "[95, 7]", "[45, 7, 1]", "turin"):
        with pytest.raises(LabError, match="9:"):
            load(write(tmp_path, placed.replace("[45.07, -7.5]", wrong)))


def test_demo_is_what_the_main_job_needs() -> None:
    topology = load(ROOT / "lab" / "topologies" / "demo.yaml")
    assert len(topology.cloudlets) >= 6
    access = [
        link.delay_ms
        for link in topology.links
        if link.b == topology.core and link.a.startswith("c") and link.a != "ctl"
    ]
    assert min(access) >= 5
    assert max(access) <= 40


def test_what_is_not_given_is_filled_in(tmp_path: Path) -> None:
    topology = load(write(tmp_path, GOOD))
    c1, c2 = topology.cloudlets
    assert (topology.asn, topology.controller, topology.route_servers, topology.core) == (
        65000,
        "ctl",
        ("rs1", "rs2"),
        "core",
    )
    assert (c1.pe, c1.vtep, c2.pe, c2.vtep) == ("vpls", "10.255.0.1", "evpn", "10.255.0.2")
    assert [(e.index, e.ports, e.vni) for e in c1.endpoints] == [(1, ("l1-*",), None), (2, ("l2-*",), None)]
    assert c2.endpoints[0].vni == 5000
    assert [e.prefix6 for e in c1.endpoints] == [None, "2001:db8:101::/64"]
    m1, v1 = c1.stations[0], c2.stations[0]
    assert m1.identity == {"client_id": "00aabb"}
    assert m1.mac == "02:00:5e:00:00:01"
    assert v1.identity == {"mac": "02:00:00:00:00:09"}
    assert v1.works_for == "m1"
    assert topology.policy is None
    assert [link.shaped for link in topology.links] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("delay_ms: 7", "dely_ms: 7", "17:27", "unknown field 'dely_ms' (did you mean 'delay_ms'?)"),
        ("delay_ms: 7", "delay_ms: fast", "17:37", "delay_ms must be of type number"),
        ("delay_ms: 7", "delay_ms: -1", "17:37", "delay_ms: -1 is less than the minimum of 0"),
        ("jitter_ms: 1", "jitter_ms: 6", "16:40", "jitter_ms must not be larger than delay_ms"),
        ("[c2, core]", "[c9, core]", "17:16", "there is no node 'c9'"),
        ("[c2, core]", "[c1, core]", "17:5", "a second link between c1 and core"),
        ("delay_ms: 7", "bypass: true", "17:27", "a bypass joins two cloudlets"),
        ("[c2, core], delay_ms: 7", "[c2, c1], bypass: true", "12:1", "no link leads from core to c2"),
        ("[c2, core]", "[c2, c2]", "17:15", "non-unique"),
        ("  - {between: [c2, core], delay_ms: 7}\n", "", "12:1", "no link leads from core to c2"),
        ("pe: evpn", "pe: mpls", "9:9", "pe 'mpls' is unknown (one of: vpls, evpn)"),
        ("pe: evpn", "pe: vpls", "10:53", "vni is for evpn cloudlets only"),
        ("10.1.0.0/24", "10.1.0.7/24", "5:32", "10.1.0.7/24 has host bits set"),
        ("10.101.0.0/28", "10.101.0.0/30", "6:32", "holds no pair of addresses"),
        ("10.1.0.0/24", "10.254.3.0/24", "5:32", "overlaps the lab's own"),
        ("10.1.0.0/24", '10.1.0.0/24, prefix6: "2001:db8::1/64"', "5:54", "prefix6: 2001:db8::1/64 has host bits set"),
        ("name: c1-lan", "name: c1-iot", "6:16", "endpoint 'c1-iot' is taken"),
        ("endpoint: c1-iot", "endpoint: c2-lan", "7:36", "cloudlet c1 has no endpoint 'c2-lan'"),
        ("device: m1", "device: m7", "11:48", "there is no device 'm7'"),
        ("name: v1", "name: m1", "11:18", "device or VM 'm1' is taken"),
        ("name: c2\n", "name: rs1\n", "8:11", "node 'rs1' is taken"),
        ("name: c2\n", "name: wan\n", "8:11", "node 'wan' is taken"),
        ("name: c1\n", "name: C1\n", "3:11", "does not match"),
        (
            "pe: evpn",
            "pe: evpn\n    vtep: 10.0.0.1",
            "10:11",
            "vtep '10.0.0.1' is not an IPv4 address of 10.255.0.0/16",
        ),
        ("pe: evpn", "pe: evpn\n    vtep: 10.255.0.1", "10:11", "vtep '10.255.0.1' is taken"),
        ("pe: evpn", "pe: evpn\n    pe: vpls", "10:5", "the key 'pe' is here a second time"),
        ("apiVersion: weft/v1", "apiVersion: weft/v2", "1:13", "'weft/v1' was expected"),
        ("apiVersion: weft/v1", "policy: none.yaml\napiVersion: weft/v1", "1:9", "there is no policy file"),
        ("  - name: c2", "  - name: [c2", "9:7", "a comma is missing"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, place: str, says: str) -> None:
    """`place` is the line:column of the mistake, counted from 1."""
    assert GOOD.count(old) == 1
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(LabError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:{place}: ")
    assert says in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "a: b\n", "cloudlets: 7\nlinks: []\napiVersion: weft/v1\n", "\x00", "- - - ]"]
)
def test_what_is_no_topology_at_all(tmp_path: Path, text: str) -> None:
    with pytest.raises(LabError, match=r"t\.yaml"):
        load(write(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no such file"):
        load(tmp_path / "none.yaml")
