"""A device is seen at another place: its VM follows if the paper permits it, and the figures of the decision are
recorded."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import delete, update

from controller.core.clock import now
from controller.core.refusals import conflict
from controller.db import decisions
from controller.db.bandwidths import BandwidthRow
from controller.db.moves import MoveRow
from controller.db.neighbours import NeighbourRow
from controller.db.sightings import SightingRow
from controller.db.vms import VmRow
from controller.migration import follow_device as module
from controller.migration import machine_reports
from controller.migration.follow_device import AGAIN, FollowDevice
from controller.wire.machines import MachineState
from controller.wire.moves import MoveReport
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_mover import breaking, running, settled
from tests.unit.controller.moving_town import VM, town
from tests.unit.controller.test_leases import mac
from tests.unit.controller.vm_region import WEB, begin_move, region, say

pytestmark = pytest.mark.slow

MB = 10**6


async def add(controller: Controller, *rows: Any) -> None:
    async with controller.region.database.write() as session:
        session.add_all(rows)


def neighbour(
    rtt_ms: float | None, possible: bool = True, fresh: bool = True, minutes: float = 3, **names: str
) -> NeighbourRow:
    at = now()
    return NeighbourRow(
        cloudlet=names.get("cloudlet", "c1"),
        neighbour=names.get("neighbour", "c2"),
        at=at,
        fresh_until=at + timedelta(minutes=minutes if fresh else -1),
        method="icmp",
        sent=5,
        received=5,
        median_ms=rtt_ms,
        loss=0.0,
        possible=possible,
        since=at,
    )


def bandwidth(mbits: float) -> BandwidthRow:
    row = BandwidthRow(cloudlet="c1", neighbour="c2", bits_per_second=mbits * MB, moves=1, at=now())
    row.last_bytes, row.last_seconds = MB, 1.0
    return row


def taken_to_be(device: str, endpoint: str, since: datetime) -> SightingRow:
    """Return a row by which a device is considered to be at an endpoint since that time."""
    seen = {"endpoint": endpoint, "since": since, "seen_endpoint": endpoint, "seen_since": since, "turned_at": since}
    return SightingRow(device=device, how="lease", at=since, **seen)


class Starts:
    """The moves that were begun."""

    def __init__(self, refuse: str = "") -> None:
        self.begun: list[tuple[str, str, str, int]] = []
        self.refuse = refuse

    async def __call__(self, vm: str, endpoint: str, *, asked_by: str, reason: str, decision: int) -> None:
        if self.refuse:
            raise conflict(self.refuse)
        assert asked_by == "deciding"
        self.begun.append((vm, endpoint, reason, decision))


async def ready(controller: Controller, start: Starts, memory_used: int = 100 * MB) -> FollowDevice:
    """Prepare m1's VM `web`, which runs at c1-lan and writes 0.2 MB a second."""
    await region(controller, "m1", "m2")
    await controller.post("/vms", WEB)
    await say(controller, "c1", MachineState(name="web", condition="running", memory_used=memory_used, dirty_rate=2e5))
    inside = controller.region
    return FollowDevice(inside.database, inside.changes.intent, start, Starts(), inside.runtime.wakeup)


@pytest.mark.parametrize(
    ("rows", "memory_used", "course", "reason"),
    [
        ([], 1, "synthesise", "no neighbour"),
        ([partial(neighbour, 20.0, fresh=False)], 1, "synthesise", "stale: it was not heard of for too long"),
        ([partial(neighbour, 20.0, possible=False)], 1, "synthesise", "no neighbour"),
        ([partial(neighbour, 20.0, cloudlet="c2", neighbour="c1")], 1, "synthesise", "no neighbour"),
        ([partial(neighbour, 20.0), partial(bandwidth, 1000)], 500 * MB, "move", "is below 150 ms"),
        ([partial(neighbour, 1200.0), partial(bandwidth, 1000)], 1, "synthesise", "is above 1000 ms"),
        ([partial(neighbour, 100.0), partial(bandwidth, 60)], 100 * MB, "move", "and a new VM takes 20 s"),
        ([partial(neighbour, 100.0), partial(bandwidth, 60)], 500 * MB, "synthesise", "and a new VM takes 20 s"),
        (
            [partial(neighbour, 20.0), partial(neighbour, 1500.0, cloudlet="c2", neighbour="c1")],
            1,
            "synthesise",
            "above 1000 ms",
        ),
    ],
)
async def test_the_papers_cases(
    controller: Controller, rows: list[Callable[[], Any]], memory_used: int, course: str, reason: str
) -> None:
    """The cases of Teka, section V, from the agents' measurements to the move that is begun, or is not."""
    start = Starts()
    deciding = await ready(controller, start, memory_used)
    await add(controller, *[row() for row in rows])
    row = await deciding.seen("m1", "c2-lan")
    assert row is not None and row.course == course, row and row.reasons
    assert reason in "; ".join(row.reasons)
    moved = [("web", "c2-lan", "; ".join(row.reasons), row.id)]
    assert start.begun == (moved if course == "move" else [])
    kept = (await controller.get("/decisions", vm="web"))["items"]
    assert [(k["id"], k["course"], k["move"]) for k in kept] == [(row.id, course, None)]
    assert kept[0]["estimate"]["inputs"]["memory"] == {
        "value": memory_used,
        "origin": "measured by its driver",
        "guessed": False,
    }
    event = (await controller.get("/events"))["items"][-1]
    assert (event["type"], event["subject"]) == ("move-decided", "web")
    assert event["data"]["reasons"] == row.reasons and event["data"]["prospect"]["neighbour"] == kept[0]["relation"]
    assert event["data"]["estimate"]["inputs"]["rtt_ms"] == kept[0]["estimate"]["inputs"]["rtt_ms"]
    assert "weft move" in event["text"]


async def test_what_is_not_decided(controller: Controller) -> None:
    start = Starts()
    deciding = await ready(controller, start)
    await add(controller, neighbour(1.0))
    assert await deciding.seen("m2", "c2-lan") is None  # m2 has no VM
    assert await deciding.seen("m9", "c2-lan") is None
    assert await deciding.seen("m1", "c1-lan") is None  # the VM is there already
    assert await deciding.seen("m1", "c9-lan") is None
    await begin_move(controller, "web")
    assert await deciding.seen("m1", "c2-lan") is None  # the VM is on its way
    async with controller.region.database.write() as session:
        await session.execute(delete(MoveRow))
        await machine_reports.heard(session, controller.region.intent, MoveReport(cloudlet="c1"))
    assert await deciding.seen("m1", "c2-lan") is None  # the VM does not run
    assert (await controller.get("/decisions"))["items"] == [] and start.begun == []


async def test_a_vm_follows_its_device(controller: Controller) -> None:
    """The whole path: the decision begins a move, agents carry it out, and its figures are recorded."""
    async with town(controller) as there:
        await add(controller, neighbour(20.0))
        row = await controller.region.migration.follow_device.seen("m1", "c2-lan")
        assert row is not None and row.course == "move"
        (kept,) = (await controller.get("/decisions", vm="v1"))["items"]
        move = await there.over(kept["move"])
        assert (move["state"], move["asked_by"], move["at"]) == ("done", "deciding", "c2-lan")
        assert (await controller.get("/decisions", move=move["name"]))["items"] == [kept]
        (profile,) = (await controller.get("/profiles"))["items"]
        assert (profile["move"], profile["seconds"], profile["paused_ms"]) == (move["name"], 2.5, 40.0)
        assert profile["predicted_seconds"] == kept["estimate"]["seconds"] and profile["rtt_before_ms"] == 20.0
        assert await controller.region.migration.follow_device.seen("m1", "c2-lan") is None  # the VM is there
        own = (await controller.get("/audit", who="controller"))["items"]
        assert any(one["method"] == "move" and one["path"].startswith("v1 to c2-lan: ") for one in own)
        asked = await there.over(await there.start("c1-lan"))
        (latest, _) = (await controller.get("/decisions", vm="v1"))["items"]
        assert (latest["move"], latest["reasons"]) == (asked["name"], ["somebody asked for it"])


async def test_a_start_that_is_refused_is_over(controller: Controller) -> None:
    async with town(controller) as there:
        await controller.post("/devices", {"name": "m2", "mac": "02:00:5e:00:02:01"})
        await controller.post("/vms", WEB | {"device": "m2"})
        there.movers["c1"].broken = lambda order: {"state": "refused", "detail": "no room"}
        await controller.post("/vms/web/start", status=200)

        async def over() -> bool:
            return bool((await controller.get("/vms/web"))["condition"] == "gone")

        await settled(over)


async def test_what_stood_in_the_way_may_pass(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A VM that was left behind follows as soon as it may, and is not moved twice."""
    start = Starts()
    deciding = await ready(controller, start)
    await deciding.look()  # m1's place is unknown
    await add(controller, taken_to_be("m1", "c2-lan", now()))
    for _ in range(3):
        await deciding.look()
    kept = (await controller.get("/decisions"))["items"]
    assert [found["course"] for found in kept] == ["synthesise"] and start.begun == []
    await add(controller, neighbour(20.0))
    for _ in range(3):
        await deciding.look()
    assert len(start.begun) == 1
    await begin_move(controller, "web")
    monkeypatch.setattr(module, "now", lambda: now() + AGAIN)
    await deciding.look()  # the VM is on its way
    assert len(start.begun) == 1
    async with controller.region.database.write() as session:
        await session.execute(delete(MoveRow))
    await add(controller, neighbour(20.0, cloudlet="c2", neighbour="c1"))
    async with controller.region.database.write() as session:
        await session.execute(update(NeighbourRow).values(fresh_until=now() + 2 * AGAIN))
    await deciding.look()  # the move failed
    assert [found["course"] for found in (await controller.get("/decisions"))["items"]] == [
        "move",
        "move",
        "synthesise",
    ]


async def look_now_and_later(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for VMs that are not with their devices, with c1, c2 and c3 near each other."""
    async with controller.region.database.write() as session:
        await session.execute(delete(NeighbourRow))
        session.add_all(
            neighbour(20.0, minutes=10, cloudlet=a, neighbour=b) for a, b in permutations(("c1", "c2", "c3"), 2)
        )
    await controller.region.migration.follow_device.look()
    with monkeypatch.context() as patch:
        patch.setattr(module, "now", lambda: now() + AGAIN)
        await controller.region.migration.follow_device.look()


async def moved(controller: Controller) -> list[tuple[str, str, str]]:
    """Return the requested moves, oldest first: VM, destination, and requester."""
    found = (await controller.get("/moves"))["items"]
    return [(one["vm"], one["endpoint"], one["asked_by"]) for one in reversed(found)]


@pytest.mark.parametrize("then", ["stays", "walks on", "comes back"])
async def test_a_move_that_was_asked_for_stands(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """The VM does not go back to its device's earlier place; it follows when the device is considered to be elsewhere,
    or at the earlier place anew."""
    pool = ("c1-lan", "c2-lan", "c3-lan")
    async with town(controller, pool=pool) as there:
        await add(controller, taken_to_be("m1", "c1-lan", now()))
        await there.over(await there.start("c2-lan"))
        await look_now_and_later(controller, monkeypatch)
        assert await controller.region.migration.follow_device.seen("m1", "c1-lan") is None  # so says a new leader
        asked = [("v1", "c2-lan", "operator")]
        assert await moved(controller) == asked and running(there.there, "v1") == ["c2"]
        if then == "stays":
            return
        lan = "c3-lan" if then == "walks on" else "c1-lan"
        async with controller.region.database.write() as session:
            await session.execute(delete(SightingRow))
            session.add(taken_to_be("m1", lan, now()))
        await look_now_and_later(controller, monkeypatch)
        assert await moved(controller) == [*asked, ("v1", lan, "deciding")]


async def test_an_evacuation_stands(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices are still at the cloudlet that was evacuated."""
    async with town(controller) as there:
        for number in (2, 3):
            name, device = f"v{number}", f"m{number}"
            await controller.post("/devices", {"name": device, "mac": mac(number)})
            await controller.post("/vms", VM | {"name": name, "device": device})
            vm = await controller.get(f"/vms/{name}")
            await there.movers["c1"].agent.lease(endpoint="c1-lan", mac=vm["macs"][0], client_id=vm["client_id"])
            await controller.post(f"/vms/{name}/start", status=200)
        names = ["v1", "v2", "v3"]

        async def all_run() -> bool:
            return {(await controller.get(f"/vms/{name}"))["condition"] for name in names} == {"running"}

        await settled(all_run)
        await add(controller, neighbour(20.0), *(taken_to_be(f"m{number}", "c1-lan", now()) for number in (1, 2, 3)))
        left = await controller.post("/cloudlets/c1/evacuation")
        assert [(await there.over(move["name"]))["state"] for move in left["moves"]] == ["done"] * 3
        await look_now_and_later(controller, monkeypatch)
        assert sorted(await moved(controller)) == [(name, "c2-lan", "evacuation") for name in names]
        assert [running(there.there, name) for name in names] == [["c2"]] * 3


async def test_a_move_that_was_undone_does_not_stand(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    async with town(controller, pool=("c1-lan", "c2-lan", "c3-lan")) as there:
        await add(controller, taken_to_be("m1", "c2-lan", now()))
        there.movers["c3"].broken = breaking("prepare", "no room")
        assert (await there.over(await there.start("c3-lan")))["state"] == "undone"
        await look_now_and_later(controller, monkeypatch)
        assert await moved(controller) == [("v1", "c3-lan", "operator"), ("v1", "c2-lan", "deciding")]


@pytest.mark.parametrize(
    ("asked_by", "state", "asked", "made", "stands"),
    [
        ("operator", "done", 0, 60, True),
        ("evacuation", "done", 0, 60, True),
        ("deciding", "done", 0, 60, False),
        ("operator", "undone", 0, 60, False),
        ("operator", "done", 20, 60, False),  # before its device came to its present place
        ("operator", "done", 5, 2, False),  # another VM with that name
    ],
)
async def test_which_moves_stand(
    controller: Controller, asked_by: str, state: str, asked: int, made: int, stands: bool
) -> None:
    """The VM was created `made` minutes ago, the move was requested `asked` minutes ago, and the device came 10 minutes
    ago. A move that stands is kept, however old it is."""
    start, at = Starts(), now()
    deciding = await ready(controller, start)
    before = at - timedelta(minutes=asked)
    row = MoveRow(name="mv1", vm="web", device="m1", source="c2", destination="c1", state=state, step="normal")
    row.asked_by, row.saga, row.created_at, row.ended_at = asked_by, {}, before, at - timedelta(days=91)
    await add(controller, neighbour(20.0), taken_to_be("m1", "c2-lan", at - timedelta(minutes=10)), row)
    async with controller.region.database.write() as session:
        await session.execute(update(VmRow).values(created_at=at - timedelta(minutes=made)))
    async with controller.region.database.read() as session:
        assert (await decisions.apart(session) == []) == stands
    await deciding.look()
    assert (start.begun == []) == stands
    await controller.region.migration.scheduler.prune()
    async with controller.region.database.read() as session:
        assert (await session.get(MoveRow, "mv1") is not None) == stands


async def test_a_move_that_is_refused_is_told(controller: Controller) -> None:
    deciding = await ready(controller, Starts("the cloudlet has no driver qemu"))
    await add(controller, neighbour(1.0))
    row = await deciding.seen("m1", "c2-lan")
    assert row is not None and (row.course, row.move) == ("move", None)
    event = (await controller.get("/events"))["items"][-1]
    assert (event["type"], event["subject"]) == ("move-refused", "web") and "no driver qemu" in event["text"]
