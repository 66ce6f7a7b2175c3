"""A VM moves between two cloudlets that encrypt: nothing of its memory or disk passes the emulated WAN in the clear, on
any path between them, and strangers do not reach the ports where it arrives."""

import re
import time
from collections.abc import Iterator

import pytest

from lab.guests.build import build
from lab.paths import GUESTS, ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest
from tests.integration import encrypted_region
from tests.integration.encrypted_region import tunnels, up, wire

reason = encrypted_region.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]

BOTH = {("c1", "c2"), ("c2", "c1")}


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    build(GUESTS)
    found = Region.load(ROOT / "lab/topologies/move-ipsec.yaml")
    with found.occupied():
        found.build(print)
        with wire(found):
            for phase in (found.enrol, found.apply_policy, found.lease, found.boot):
                phase(print)
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        until(lambda: up(client) == BOTH, lambda: tunnels(client), 30)
        yield client


def begun(rest: Rest) -> tuple[str, str, str]:
    """Begin a move to the cloudlet where the VM is not; return its name, the source and the destination."""
    source, destination = ("c1", "c2") if rest.get("/vms/v1")["endpoint"] == "c1-lan" else ("c2", "c1")
    return rest.post("/moves", {"vm": "v1", "endpoint": f"{destination}-lan", "linger": 0})["name"], source, destination


def ended(rest: Rest, move: str) -> Json:
    until(lambda: rest.get(f"/moves/{move}")["ended_at"], lambda: rest.get(f"/moves/{move}"), 240)
    return rest.get(f"/moves/{move}")


def arriving(region: Region, cloudlet: str) -> set[tuple[str, int]]:
    """Return the addresses and ports at which a cloudlet waits for machines."""
    said = region.execute(cloudlet, ["ss", "-Hltn"], check=True).stdout
    found = {(address, int(port)) for address, port in re.findall(r" (\S+):(\d+) +\S+:\*", said)}
    return {place for place in found if 49152 <= place[1] < 49216}


def reaches(region: Region, node: str, place: tuple[str, int]) -> bool:
    connects = "exec 3<>/dev/tcp/{}/{}".format(*place)
    return region.execute(node, ["timeout", "1", "bash", "-c", connects]).returncode == 0


def test_a_move_goes_through_the_tunnel_alone(region: Region, rest: Rest) -> None:
    """The destination listens at its VTEP alone, and no other host reaches it there."""
    with wire(region):
        move, _, there = begun(rest)
        until(lambda: len(arriving(region, there)) > 1, lambda: rest.get(f"/moves/{move}"), 60)
        places = arriving(region, there)
        assert {address for address, _ in places} == {region.plan.loopbacks[there]}
        assert not any(reaches(region, stranger, place) for stranger in ("rs1", "ctl") for place in places)
        found = ended(rest, move)
    assert (found["state"], found["reason"]) == ("done", ""), found
    assert rest.get("/vms/v1")["condition"] == "running"
    offered = region.execute(there, ["ip", "mptcp", "endpoint", "show"], check=True).stdout
    assert offered == "", "no other path"


def test_a_charon_that_is_killed_in_the_middle_of_a_move(region: Region, rest: Rest) -> None:
    """The move completes or is undone; the VM runs exactly once, and none of its data was in the clear."""
    with wire(region):
        move, here, there = begun(rest)
        until(lambda: len(arriving(region, there)) > 0, lambda: rest.get(f"/moves/{move}"), 60)
        time.sleep(1)
        region.processes[f"{here}-charon"].kill()
        time.sleep(3)
        region.processes[f"{here}-charon"].start()
        found = ended(rest, move)
        until(lambda: up(rest) == BOTH, lambda: tunnels(rest), 40)
    # A QEMU that has waited for its line may not have answered its agent for a moment.
    until(lambda: rest.get("/vms/v1")["condition"] == "running", lambda: (rest.get("/vms/v1"), found), 30)
    vm = rest.get("/vms/v1")
    at = f"{there if found['state'] == 'done' else here}-lan"
    assert (vm["endpoint"], vm["move"]) == (at, None), (vm, found)
