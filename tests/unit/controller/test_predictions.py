"""Predictions on request, and their correction by later moves."""

from datetime import datetime, timedelta
from statistics import median

import pytest
from sqlalchemy import update

from controller.core.clock import now
from controller.core.estimates import BANDWIDTH, Input
from controller.core.policy.model import Migration
from controller.core.prediction import Load, Path, forecast
from controller.core.saga import Phase, Step
from controller.db import profiles
from controller.db import vms as table
from controller.db.moves import MoveRow
from controller.db.neighbours import NeighbourRow
from controller.db.profiles import ProfileRow
from controller.migration.follow_device import consider, note
from controller.migration.predictions import learn, predict
from controller.wire.moves import Figures, Pages
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_follow_device import MB, Starts, add, bandwidth, neighbour, ready


async def test_a_prediction_says_where_its_figures_come_from(controller: Controller) -> None:
    await ready(controller, Starts())
    asked = {"vm": "web", "endpoint": "c2-lan"}
    found = await controller.get("/moves/prediction", **asked)
    assert (found["relation"], found["course"], found["estimate"]["seconds"]) == ("not", "synthesise", None)
    await add(controller, neighbour(20.0))
    inputs = (await controller.get("/moves/prediction", **asked))["estimate"]["inputs"]
    assert inputs["rtt_ms"] == {"value": 20.0, "origin": "neighbour database", "guessed": False}
    assert inputs["bandwidth"] == {"value": BANDWIDTH, "origin": "assumed", "guessed": True}
    assert inputs["disk"] == {"value": 0.0, "origin": "it has none", "guessed": False}
    await add(controller, bandwidth(60))
    found = await controller.get("/moves/prediction", **asked)
    assert found["estimate"]["inputs"]["bandwidth"] == {
        "value": 60e6,
        "origin": "past moves over the link",
        "guessed": False,
    }
    assert found["estimate"]["seconds"] == pytest.approx(13.7, abs=0.3) and found["course"] == "move"
    assert (found["estimate"]["rtt_ms"], found["estimate"]["error"]) == (120.0, None)
    for wrong, status, reason in (
        ({"vm": "nobody"}, 404, "no VM 'nobody'"),
        ({"endpoint": "c9-lan"}, 422, "no endpoint 'c9-lan'"),
        ({"endpoint": "c1-lan"}, 409, "web is at c1 already"),
    ):
        problem(await controller.http.get("/api/v1/moves/prediction", params=asked | wrong), status, None, reason)
    assert (await controller.get("/decisions"))["items"] == []


def figures(seconds: float) -> dict[str, Figures]:
    memory = Figures(seconds=seconds, done=100 * MB, wire=50 * MB, dirty_rate=3e5, memory_used=90 * MB, rounds=3)
    return {"memory": memory, "switchover": Figures(seconds=0.2, wire=MB, paused_ms=170.0), "join": Figures(seconds=1)}


async def test_moves_are_learnt_from(controller: Controller) -> None:
    """The durations of real moves correct the next prediction, wherever it is requested, and the answer includes its
    error."""
    await ready(controller, Starts())
    await add(controller, neighbour(20.0))
    asked, times = {"vm": "web", "endpoint": "c2-lan"}, list[float]()
    for number in range(8):
        async with controller.region.database.write() as session:
            row = await table.get(session, "web")
            assert row is not None
            intent = controller.region.intent
            await note(session, intent, row, "c2-lan", f"mv{number}")
            found, _, _ = await consider(session, intent, row, "c2-lan")
            assert found.forecast is not None and found.forecast.seconds is not None
            took = found.forecast.seconds * 1.5
            times.append(took)
            await session.execute(update(NeighbourRow).values(median_ms=25.0))  # while it is under way
            for _ in range(2):  # a second time does nothing
                when = now() - timedelta(minutes=1), now()
                await learn(session, f"mv{number}", row.made_of, ("c1", "c2"), when, figures(took))
            await session.execute(update(NeighbourRow).values(median_ms=20.0))
    found = (await controller.get("/moves/prediction", **asked))["estimate"]
    ratio = found["inputs"]["ratio"]
    assert ratio["origin"] == "its own past moves"
    assert ratio["value"] == pytest.approx(51 / (90 + 0.3 * median(times)), rel=0.01)  # of memory in use, or written
    assert found["inputs"]["bandwidth"]["origin"] == "past moves over the link"
    assert found["inputs"]["buffer_ms"]["value"] == 5.0
    assert (found["correction"]["image_moves"], found["correction"]["link_moves"]) == (7, 7)  # the first guessed
    assert 1.3 < found["correction"]["factor"] <= 1.51
    assert found["error"]["moves"] == 8 and 0.05 < found["error"]["median"] < 0.34 < found["error"]["p90"] + 0.02
    kept = (await controller.get("/profiles", image="debian", cloudlet="c2", limit=3))["items"]
    assert [profile["move"] for profile in kept] == ["mv7", "mv6", "mv5"]
    assert (kept[0]["wire"], kept[0]["paused_ms"], kept[0]["rtt_before_ms"]) == (51 * MB, 170.0, 20.0)
    assert (kept[0]["rtt_during_ms"], kept[0]["seconds"]) == (25.0, pytest.approx(took + 0.2))
    assert kept[0]["predicted_seconds"] > kept[0]["model_seconds"]
    moves = (await controller.get("/neighbours/bandwidths"))["items"]
    assert [(found["cloudlet"], found["neighbour"], found["moves"]) for found in moves] == [("c1", "c2", 8)]
    problem(await controller.http.get("/api/v1/profiles?vm=nobody"), 422, "vm")


@pytest.mark.parametrize("compressed", [0.3, 1.0])
@pytest.mark.parametrize("told", [True, False])
async def test_what_was_recorded_is_what_is_predicted(controller: Controller, compressed: float, told: bool) -> None:
    """A move goes as the model predicts, with a driver that reports the memory it has processed, which is all of the
    machine's: the next prediction has the bytes of this move."""
    await ready(controller, Starts())
    await add(controller, neighbour(20.0), bandwidth(60))
    load = Load(90 * MB, 3e5, ratio=compressed)
    made = forecast(load, (Path(60e6, 20.0),))
    assert made.wire is not None and made.seconds is not None and made.paused_ms is not None
    async with controller.region.database.write() as session:
        await session.execute(update(table.VmRow).values(memory_used=load.memory, dirty_rate=load.dirty_rate))
    async with controller.region.database.write() as session:
        row = await table.get(session, "web")
        assert row is not None
        await note(session, controller.region.intent, row, "c2-lan", "mv")
        last = load.dirty_rate * made.paused_ms / 1000 * compressed
        memory = Figures(
            seconds=made.seconds - made.paused_ms / 1000,
            done=row.made_of.memory,
            total=row.made_of.memory,
            wire=int(made.wire - last),
            dirty_rate=load.dirty_rate,
            memory_used=int(load.memory) if told else None,
        )
        acts = {"memory": memory, "switchover": Figures(seconds=made.paused_ms / 1000, wire=int(last))}
        await learn(session, "mv", row.made_of, ("c1", "c2"), (now(), now()), acts)
    async with controller.region.database.read() as session:
        row = await table.get(session, "web")
        assert row is not None
        found, _, _ = await consider(session, controller.region.intent, row, "c2-lan")
    assert found.inputs["ratio"].value == pytest.approx(compressed, rel=0.02)
    assert found.forecast is not None and found.forecast.wire == pytest.approx(made.wire, rel=0.03)


async def test_the_way_home_is_predicted_by_ways_home(controller: Controller) -> None:
    """While the policy has both ends keep the VM's memory, past moves with such copies say what the way back takes; and
    a line that waited most of the time is not taken for a slow one."""
    await ready(controller, Starts())
    await add(controller, neighbour(20.0))
    pages = Pages(zero=1, same=1, known=1, delta=1, literal=1)
    there = Figures(seconds=10.0, wire=40 * MB, bandwidth=60e6, memory_used=100 * MB, dirty_rate=0.0, pages=pages)
    back = there.model_copy(update={"seconds": 3.0, "wire": 2 * MB, "pages": pages.model_copy(update={"kept": True})})

    async def moved(name: str, between: tuple[str, str], memory: Figures, at: datetime) -> None:
        async with controller.region.database.write() as session:
            row = await table.get(session, "web")
            assert row is not None
            await learn(session, name, row.made_of, between, (at - timedelta(minutes=1), at), {"memory": memory})

    async def inputs(keep_seconds: int) -> dict[str, Input]:
        policy = Migration(keep_seconds=keep_seconds)
        async with controller.region.database.read() as session:
            row = await table.get(session, "web")
            assert row is not None
            return (await predict(session, row, ("c1", "c2"), policy, now()))[1].inputs

    await moved("mv1", ("c1", "c2"), there, now() - timedelta(hours=3))
    await moved("mv2", ("c2", "c1"), there, now() - timedelta(hours=2))
    await moved("mv3", ("c1", "c2"), back, now() - timedelta(hours=2))
    assert (await inputs(86400))["ratio"].value == pytest.approx(
        0.4
    )  # it is at c1 as far as anybody knows, from nowhere
    await moved("mv4", ("c2", "c1"), back, now() - timedelta(minutes=30))
    assert (await inputs(86400))["ratio"].value == pytest.approx(0.02)
    assert (await inputs(600))["ratio"].value == pytest.approx(0.4)
    assert (await inputs(0))["ratio"].value == pytest.approx(0.4)
    assert (await inputs(0))["bandwidth"].value == pytest.approx(60e6)
    for number, (to, ratio) in enumerate((("c3", 0.4), ("c2", 0.02))):  # copies of c1 are those of the latest one
        copied = MoveRow(name=f"copy{number}", vm="web", device="m1", ahead=True, source="c1", destination=to, saga={})
        copied.state, copied.step, copied.ended_at = Phase.DONE, Step.NORMAL, now()
        await add(controller, copied)
        assert (await inputs(86400))["ratio"].value == pytest.approx(ratio)
    found = (await controller.get("/profiles"))["items"]
    assert [(one["move"], one["kept"]) for one in found] == [
        ("mv4", True),
        ("mv3", True),
        ("mv2", False),
        ("mv1", False),
    ]


async def test_profiles_are_bounded(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "KEPT", 3)
    same = {"vm": "web", "image": "debian", "source": "c1", "destination": "c2", "memory": 1, "seconds": 1.0}
    await add(controller, *[ProfileRow(move=f"mv{number}", **same) for number in range(7)])
    async with controller.region.database.write() as session:
        await profiles.prune(session)
    assert len((await controller.get("/profiles"))["items"]) == 3
    first = await controller.get("/profiles", limit=2)
    assert len((await controller.get("/profiles", cursor=first["next"]))["items"]) == 1
