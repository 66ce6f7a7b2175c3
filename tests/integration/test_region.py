"""A whole region with every real part: its promises to operators and network engineers."""

import json
import subprocess
import time
from collections.abc import Iterator

import pytest

from lab.membership import timed_join, timed_leave
from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest

pytestmark = pytest.mark.lab


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


def reaches(region: Region, station: str, address: str) -> bool:
    return region.execute(station, ["ping", "-c", "3", "-i", "0.2", "-W", "1", address]).returncode == 0


def doctor(rest: Rest) -> list[Json]:
    return list(rest.get("/doctor")["differences"])


@pytest.mark.smoke
def test_addresses_are_pairs(region: Region, rest: Rest) -> None:
    leases = {lease["address"]: lease for lease in rest.items("/leases")}
    assert leases[region.address("m1")]["kind"] == "md"
    assert leases[region.address("v1")]["kind"] == "vm"
    assert region.address("m1") == "10.1.0.2"
    assert region.address("v1") == "10.1.0.3"


def test_both_addresses_of_a_pair_have_one_number(region: Region, rest: Rest) -> None:
    assert region.address6("m1") == "2001:db8:1::2" and region.address6("v1") == "2001:db8:1::3"
    for lease in rest.items("/leases"):
        assert lease["address6"].rpartition("::")[2] == f"{int(lease['address'].rpartition('.')[2]):x}"


@pytest.mark.smoke
def test_members_reach_each_other_and_nobody_else(region: Region) -> None:
    assert reaches(region, "m1", region.address("v2"))
    assert reaches(region, "m2", region.address("v1"))
    assert reaches(region, "n1", region.address("n2"))
    assert not reaches(region, "m1", region.address("m3"))
    assert not reaches(region, "m1", region.address("n1"))


def test_members_reach_each_other_over_ipv6_and_nobody_else(region: Region) -> None:
    assert reaches(region, "m1", region.address6("v2"))
    assert reaches(region, "m2", region.address6("v1"))
    assert reaches(region, "n1", region.address6("n2"))
    assert not reaches(region, "m1", region.address6("m3"))
    assert not reaches(region, "m1", region.address6("n1"))


@pytest.mark.smoke
def test_doctor_finds_nothing_wrong(rest: Rest) -> None:
    until(lambda: not doctor(rest), "a region without differences")


@pytest.mark.smoke
def test_join_and_leave(region: Region, rest: Rest) -> None:
    joined = timed_join(region, rest, "blue", "c3-lan", "m1", region.address("m3"))
    assert joined.answer["in_force"]
    assert {receipt["route_server"] for receipt in joined.answer["route_servers"]} == {"rs1", "rs2"}
    assert all(agent["confirmed"] for agent in joined.answer["agents"])
    left = timed_leave(region, rest, "blue", "c3-lan", "m3", region.address("v1"), vtep(rest, "c3"))
    assert left.answer["in_force"]
    assert left.frames > 0
    assert left.late_frames == 0


@pytest.mark.smoke
def test_evpn_join_and_leave(region: Region, rest: Rest) -> None:
    left = timed_leave(region, rest, "amber", "e2-lan", "n2", region.address("n1"), vtep(rest, "e2"))
    assert left.answer["in_force"]
    assert left.frames > 0
    assert left.late_frames == 0
    joined = timed_join(region, rest, "amber", "e2-lan", "n1", region.address("n2"))
    assert joined.answer["in_force"]


@pytest.mark.parametrize(
    ("pool", "sender", "receiver", "lan"),
    [("blue", "m1", "m2", "c2-lan"), ("amber", "n1", "n2", "e2-lan")],
    ids=["vpls", "evpn"],
)
def test_access_rules_come_count_and_go(
    region: Region, rest: Rest, pool: str, sender: str, receiver: str, lan: str
) -> None:
    policy = (ROOT / "lab/topologies/small.policy.yaml").read_text()
    rule = f"{{name: quiet, action: drop, to: [{lan}], protocols: [icmp]}}"
    addresses = region.address(receiver), region.address6(receiver)
    until(lambda: all(reaches(region, sender, address) for address in addresses), "both families reach it")
    rest.apply_policy(f"{policy}access:\n  {pool}:\n    - {rule}\n", "quiet.yaml")
    try:
        until(lambda: all(one["in_kernel"] for one in rest.items("/filters", endpoint=lan)), "the filters are in force")
        for address in addresses:
            assert not reaches(region, sender, address)
        dropped: dict[str, int] = {}

        def counted() -> bool:
            dropped.update((one["family"], one["dropped"] or 0) for one in rest.items("/filters", endpoint=lan))
            return len(dropped) == 2 and min(dropped.values()) >= 3

        until(counted, lambda: f"three of each family dropped: {dropped}")
    finally:
        rest.apply_policy(policy, "small.policy.yaml")
    until(lambda: all(reaches(region, sender, address) for address in addresses), "both families reach it again")


def test_dry_run_changes_nothing(region: Region, rest: Rest) -> None:
    before = rest.get("/vcps/blue")
    answer = rest.post("/vcps/blue/members", {"endpoint": "c3-lan"}, dry_run="true")
    assert answer["dry_run"]
    assert sum(receipt["announced"] for receipt in answer["route_servers"]) > 0
    assert rest.get("/vcps/blue")["members"] == before["members"]
    assert not reaches(region, "m1", region.address("m3"))


@pytest.mark.smoke
def test_explain_says_why(rest: Rest) -> None:
    sent = json.dumps(rest.get("/routes/explain", **{"from": "c1-lan", "to": "c2-lan"}))
    absent = json.dumps(rest.get("/routes/explain", **{"from": "c1-lan", "to": "c3-lan"}))
    assert '"sent"' in sent
    assert '"not-sent"' in absent
    assert '"sent"' not in absent.replace('"step": "sent"', "")


@pytest.mark.parametrize("daemon", ["c1-agent", "e1-agent", "controller", "rs1", "rs2"])
def test_killed_and_restarted_under_ping(region: Region, rest: Rest, daemon: str) -> None:
    heard = rest.announced()
    with (
        region.ping("m1", region.address("v2"), 0.01) as vpls,
        region.ping("n1", region.address("n2"), 0.01) as evpn,
    ):
        time.sleep(0.5)
        region.processes[daemon].kill()
        time.sleep(2)
        region.processes[daemon].start()
        until(rest.ready, "the controller")
        until(lambda: rest.announces(heard), f"all BGP sessions and routes after {daemon}")
        until(lambda: not doctor(rest), f"no differences after {daemon}", 30)
        results = [vpls.stop(), evpn.stop()]
    assert [result.lost for result in results] == [0, 0]


def test_speaker_restarted_is_configured_again(region: Region, rest: Rest) -> None:
    region.processes["c2-gobgpd"].kill()
    time.sleep(1)
    region.processes["c2-gobgpd"].start()
    until(lambda: not doctor(rest), "no differences after gobgpd", 40)
    until(lambda: reaches(region, "m1", region.address("v2")), "pings after gobgpd")


@pytest.mark.smoke
def test_agent_repairs_the_kernel(region: Region, rest: Rest) -> None:
    link = json.loads(region.execute("c1", ["ip", "-j", "-d", "link", "show", "type", "vxlan"], check=True).stdout)[0]
    region.execute("c1", ["ip", "link", "del", link["ifname"]], check=True)
    until(lambda: reaches(region, "m1", region.address("v2")), "the pseudowire is back")
    until(lambda: not doctor(rest), "no differences")


def test_doctor_names_what_differs(region: Region, rest: Rest) -> None:
    region.processes["c1-agent"].kill()
    try:
        until(lambda: any("c1" in str(found) for found in doctor(rest)), "the doctor names c1")
    finally:
        region.processes["c1-agent"].start()
    until(lambda: not doctor(rest), "no differences")


@pytest.mark.smoke
def test_foreign_route_target_is_quarantined(region: Region, rest: Rest) -> None:
    """The routes of an enrolled PE that announces another endpoint's route target go nowhere, and operators see it."""
    victim = next(endpoint for endpoint in rest.items("/endpoints") if endpoint["name"] == "c1-lan")
    own = next(endpoint for endpoint in rest.items("/endpoints") if endpoint["name"] == "e1-lan")
    before = {event["id"] for event in events(rest)}

    def vtysh(*lines: str) -> None:
        commands = ["configure", f"router bgp {asn(own)}", "address-family l2vpn evpn", f"vni {own['vni']}", *lines]
        argv = ["vtysh", "--vty_socket", str(frr_directory(region, "e1"))]
        region.execute("e1", argv + [part for line in commands for part in ("-c", line)], check=True)

    vtysh(f"no route-target export {own['rt']}", f"route-target export {victim['rt']}")
    try:
        until(lambda: bool(quarantined(rest, "e1")), "the route is in quarantine")
        until(
            lambda: any(event["id"] not in before and event["type"] == "quarantined" for event in events(rest)),
            "an event tells of the quarantine",
        )
        out = rest.get("/routes", table="adj-out", peer="c2")["items"]
        assert all(route["family"] != "l2vpn-evpn" for route in out)
    finally:
        vtysh(f"no route-target export {victim['rt']}", f"route-target export {own['rt']}")
    until(lambda: not quarantined(rest, "e1"), "the quarantine is empty again")
    until(lambda: reaches(region, "n1", region.address("n2")), "pings again")


@pytest.mark.smoke
def test_command_line(region: Region) -> None:
    def weft(*arguments: str, program: str = "weft") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(ROOT / "build/venv/bin" / program), *arguments], capture_output=True, text=True, check=False
        )

    for arguments in (
        ("cloudlet", "list"),
        ("endpoint", "list"),
        ("vcp", "show", "blue"),
        ("lease", "list"),
        ("route", "list", "--table", "adj-out", "--peer", "c1"),
        ("route", "explain", "c1-lan", "c2-lan"),
        ("doctor",),
    ):
        done = weft(*arguments)
        assert done.returncode == 0, f"weft {' '.join(arguments)}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
    lab = weft("status", program="weft-lab")
    assert lab.returncode == 0 and "rs1" in lab.stdout, lab.stderr
    refused = weft("vcp", "join", "blue", "nobody")
    assert refused.returncode == 3
    assert "nobody" in refused.stderr


def events(rest: Rest) -> list[Json]:
    """Return all events that are kept, page after page by `after`."""
    found: list[Json] = []
    while True:
        page = rest.get("/events", limit="500", after=str(found[-1]["id"] if found else 0))
        found += page["items"]
        if not page["next"]:
            return found


def quarantined(rest: Rest, peer: str) -> list[Json]:
    return list(rest.get("/routes", table="quarantine", peer=peer)["items"])


def vtep(rest: Rest, cloudlet: str) -> str:
    return str(rest.get(f"/cloudlets/{cloudlet}")["vtep"])


def asn(endpoint: Json) -> str:
    return str(endpoint["rt"]).split(":")[0]


def frr_directory(region: Region, cloudlet: str) -> str:
    argv = region.processes[f"{cloudlet}-bgpd"].record.argv
    return argv[argv.index("--vty_socket") + 1]
