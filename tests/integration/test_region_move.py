"""A region whose VM boots and moves: QEMU, MPTCP, the saga, agents and route servers are all real."""

import time
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from lab import work
from lab.guests.build import build
from lab.paths import GUESTS, ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest
from lab.walk import lose, take_connections_along, walk

pytestmark = pytest.mark.lab

DOWN, UP = 1_000_000, 200_000
"""The stream's rates, in bytes a second."""

WRITTEN = ("start", "mib=16", "rate=1")
"""The arguments of the VM's memory load: the size that it writes again and again, and the rate a second."""

STAY = ROOT / "lab/topologies/soak.policy.yaml"


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    build(GUESTS)
    found = Region.load(ROOT / "lab/topologies/move.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease, found.boot):
            phase(print)
        found.execute("m1", ["ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"], check=True)
        yield found


@pytest.fixture
def asked_for(region: Region, rest: Rest) -> Iterator[None]:
    """Apply a policy by which the VM moves only on request, and does not follow its device by itself."""
    rest.apply_policy(STAY.read_text(), STAY.name)
    yield
    region.apply_policy()


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


def moved(rest: Rest, endpoint: str, *, keep: bool = False) -> Json:
    """Request a move, and return it when it has ended."""
    return ended(rest, rest.post("/moves", {"vm": "v1", "endpoint": endpoint, "keep": keep, "linger": 0})["name"])


def ended(rest: Rest, move: str) -> Json:
    deadline = time.monotonic() + 180
    while (found := rest.get(f"/moves/{move}"))["ended_at"] is None:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found


def memory(region: Region, rest: Rest, *words: str) -> Json:
    """Return the answer of the VM's memory load (docs/operate/guests.md)."""
    return work.ask(region.namespace("m1"), rest.get("/vms/v1")["address"], ["memory", *words])


def memory_right(region: Region, rest: Rest) -> None:
    """Check that the VM reads back the data that it wrote, and that there is some."""
    verdict = memory(region, rest, "verdict")
    assert verdict["wrong"] == 0 and verdict["written"] > 0 and verdict["checked"] > 0, verdict


@pytest.mark.smoke
@pytest.mark.usefixtures("asked_for")
def test_a_connection_survives_a_move_there_and_back(region: Region, rest: Rest, tmp_path: Path) -> None:
    memory(region, rest, *WRITTEN)
    stream = work.Stream(region.namespace("m1"), rest.get("/vms/v1")["address"], tmp_path / "stream", down=DOWN, up=UP)
    try:
        for endpoint, lan, serving in (("c2-lan", "10.2.0.0/24", "b"), ("c1-lan", "10.1.0.0/24", "a")):
            move = moved(rest, endpoint)
            assert (move["state"], move["reason"]) == ("done", ""), move
            vm = rest.get("/vms/v1")
            assert (vm["endpoint"], vm["serving"]) == (endpoint, serving)
            assert ip_address(vm["address"]) in ip_network(lan) and int(ip_address(vm["address"])) % 2, vm["address"]
            assert vm["condition"] == "running" and vm["move"] is None
            memory_right(region, rest)
    finally:
        verdict = stream.verdict()
    assert verdict.intact and verdict.mptcp, verdict
    assert verdict.device.received > 0 and verdict.device.gap < 30
    held = {lease["address"] for lease in rest.items("/leases", endpoint="c1-lan") if lease["device"] == "m1"}
    assert held == {"10.1.0.2", "10.1.0.3"}, "the pair that it began with"


def test_the_vm_follows_its_device_by_itself(region: Region, rest: Rest, tmp_path: Path) -> None:
    """The device walks, loses its link for five seconds, and comes back at c2: nobody requests the move."""
    before = {move["name"] for move in rest.items("/moves")}
    memory(region, rest, *WRITTEN)
    stream = work.Stream(region.namespace("m1"), rest.get("/vms/v1")["address"], tmp_path / "stream", down=DOWN, up=UP)
    try:
        time.sleep(2)
        lose(region, "m1")
        time.sleep(5)
        walk(region, "m1", "c2")
        device = take_connections_along(region, "m1", region.address("m1"))
        deadline = time.monotonic() + 60
        while not (new := [m["name"] for m in rest.items("/moves") if m["name"] not in before]):
            assert time.monotonic() < deadline, rest.get("/devices/m1")
            time.sleep(0.2)
        move = ended(rest, new[0])
        assert (move["state"], move["destination"]) == ("done", "c2"), move
        vm = rest.get("/vms/v1")
        assert vm["serving"] == "b", move
        assert int(ip_address(vm["address"])) == int(ip_address(device)) + 1, "as the plan foretold"
        memory_right(region, rest)
        time.sleep(2)
    finally:
        verdict = stream.verdict()
    assert verdict.intact and verdict.mptcp, verdict


@pytest.mark.usefixtures("asked_for")
def test_a_connection_without_mptcp_lives_where_the_address_is_kept(region: Region, rest: Rest, tmp_path: Path) -> None:
    """The VM moves to the other cloudlet of its pool and comes back, with its address."""
    before = rest.get("/vms/v1")
    here, there = before["endpoint"], "c1-lan" if before["endpoint"] == "c2-lan" else "c2-lan"
    memory(region, rest, *WRITTEN)
    region.execute("m1", ["sysctl", "-qw", "net.mptcp.enabled=0"], check=True)
    stream = work.Stream(region.namespace("m1"), before["address"], tmp_path / "stream", down=DOWN, up=UP)
    try:
        for endpoint, keep in ((there, True), (here, False)):
            move = moved(rest, endpoint, keep=keep)
            assert (move["state"], move["reason"]) == ("done", ""), move
            now = rest.get("/vms/v1")
            assert (now["endpoint"], now["condition"]) == (endpoint, "running")
            assert (now["address"], now["serving"]) == (before["address"], before["serving"])
            memory_right(region, rest)
            time.sleep(1)
    finally:
        verdict = stream.verdict()
        region.execute("m1", ["sysctl", "-qw", "net.mptcp.enabled=1"], check=True)
    assert verdict.intact and not verdict.mptcp, verdict
    assert verdict.device.received > 0 and verdict.device.gap < 30


@pytest.mark.usefixtures("asked_for")
def test_a_connection_without_mptcp_lives_on_the_old_address_until_it_ends(
    region: Region, rest: Rest, tmp_path: Path
) -> None:
    """The VM's new address is the known one meanwhile, and its old address goes when the connection ends, not after a
    fixed time."""
    old = rest.get("/vms/v1")
    there = "c1-lan" if old["endpoint"] == "c2-lan" else "c2-lan"
    region.execute("m1", ["sysctl", "-qw", "net.mptcp.enabled=0"], check=True)
    stream = work.Stream(region.namespace("m1"), old["address"], tmp_path / "stream", down=DOWN, up=UP)
    try:
        name = rest.post("/moves", {"vm": "v1", "endpoint": there, "linger": 600})["name"]
        deadline = time.monotonic() + 180
        while (move := rest.get(f"/moves/{name}"))["step"] != "leave":
            assert move["ended_at"] is None and time.monotonic() < deadline, move
            time.sleep(0.2)
        time.sleep(8)
        before = len(stream.series())
        time.sleep(2)
        assert len(stream.series()) > before, "it goes on"
        assert rest.get(f"/moves/{name}")["step"] == "leave"
        vm = rest.get("/vms/v1")
        assert vm["address"] == move["new_address"] != old["address"] and vm["serving"] != old["serving"]
    finally:
        verdict = stream.verdict()
        region.execute("m1", ["sysctl", "-qw", "net.mptcp.enabled=1"], check=True)
    move = ended(rest, name)
    assert (move["state"], move["reason"]) == ("done", ""), move
    assert verdict.intact and not verdict.mptcp, verdict
    assert old["address"] not in {lease["address"] for lease in rest.items("/leases")}


def becomes(rest: Rest, condition: str) -> Json:
    """Wait until the VM is in that condition, and return it."""
    until(lambda: rest.get("/vms/v1")["condition"] == condition, lambda: rest.get("/vms/v1"), 120)
    return dict(rest.get("/vms/v1"))


def restarted(rest: Rest, handover: str) -> Json:
    """Give the VM a check and a handover for new starts, and return it when it runs again."""
    rest.post("/vms/v1/stop")
    becomes(rest, "stopped")
    rest.http.patch("/api/v1/vms/v1", json={"check": f"tcp:{work.PORT}", "handover": handover}).raise_for_status()
    rest.post("/vms/v1/start")
    return becomes(rest, "running")


@pytest.mark.usefixtures("asked_for")
def test_it_starts_anew_elsewhere_once_its_handover_succeeds(region: Region, rest: Rest) -> None:
    """The program of the handover runs in the new machine; if it fails, the older one goes on."""
    for handover, outcome in (("/bin/false", "undone"), ("/bin/true", "done")):
        before = restarted(rest, handover)
        there = "c1-lan" if before["endpoint"] == "c2-lan" else "c2-lan"
        asked = {"vm": "v1", "endpoint": there, "linger": 0}
        move = ended(rest, rest.post("/moves/initiation", asked)["name"])
        assert move["state"] == outcome, move
        assert ("/bin/false" in move["reason"]) is (outcome == "undone"), move
        after = becomes(rest, "running")
        assert after["endpoint"] == (there if outcome == "done" else before["endpoint"])
        memory(region, rest, *WRITTEN)  # its service answers where it is known
