"""Moves that begin at a time, once or by the policy's schedule."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.core.clock import now
from controller.core.recurrence import upcoming
from controller.db import scheduled_moves as table
from controller.migration import move_schedule
from controller.migration.move_schedule import LATE
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_mover import settled
from tests.unit.controller.moving_town import is_at, town

pytestmark = pytest.mark.slow

PATH = "/moves/scheduled"


class Clock:
    """The schedule's clock: `ahead` of the true one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = timedelta()
        monkeypatch.setattr(move_schedule, "now", lambda: now() + self.ahead)
        monkeypatch.setattr(move_schedule, "LOOK", 0.02)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


async def schedule(controller: Controller, endpoint: str = "c2-lan", hours: float = 1, **more: Any) -> str:
    at = (now() + timedelta(hours=hours)).isoformat()
    return str((await controller.post(PATH, {"vm": "v1", "endpoint": endpoint, "at": at, **more}))["name"])


async def found(controller: Controller, **query: str) -> list[dict[str, Any]]:
    return list((await controller.get(PATH, **query))["items"])


async def one(controller: Controller, name: str) -> dict[str, Any]:
    return next(row for row in await found(controller) if row["name"] == name)


async def reached(controller: Controller, name: str, state: str) -> dict[str, Any]:
    """Wait until a scheduled move is in a state, and return it."""

    async def there() -> bool:
        return bool((await one(controller, name))["state"] == state)

    await settled(there)
    return await one(controller, name)


async def apply(controller: Controller, schedule: str, keep_seconds: int = 0) -> None:
    text = f"""apiVersion: weft/v1
vcps: {{blue: {{members: [c1-lan, c2-lan]}}}}
migration: {{keep_seconds: {keep_seconds}, schedule: [{schedule}]}}
"""
    headers = {"content-type": "application/yaml"}
    answer = await controller.http.post("/api/v1/policy/apply", content=text, headers=headers)
    assert answer.status_code == 200, answer.text


async def test_a_move_begins_at_its_time(controller: Controller, clock: Clock) -> None:
    async with town(controller) as town_:
        name = await schedule(controller, reason="maintenance")
        assert (await one(controller, name))["state"] == "waiting"
        assert not (await controller.get("/moves"))["items"]
        clock.ahead = timedelta(hours=1)
        begun = await reached(controller, name, "begun")
        move = await town_.over(begun["move"])
        assert (move["state"], move["endpoint"], move["asked_by"]) == ("done", "c2-lan", name)
        said = [event["text"] for event in (await controller.get("/events", type="move-scheduled"))["items"]]
        assert len(said) == 1 and said[0].endswith(": maintenance")


async def test_a_move_that_cannot_begin_is_tried_again(controller: Controller, clock: Clock) -> None:
    """Another move of the VM is under way at that time."""
    async with town(controller) as town_:
        name = await schedule(controller, "c3-lan")
        town_.movers["c1"].deaf.add("memory")
        other = await town_.start()
        clock.ahead = timedelta(hours=1)

        async def obstructed() -> bool:
            return "is being moved already" in (await one(controller, name))["detail"]

        await settled(obstructed)
        town_.movers["c1"].deaf.clear()
        await controller.delete(f"/moves/{other}")
        begun = await reached(controller, name, "begun")
        assert begun["detail"] == ""
        assert (await town_.over(begun["move"]))["endpoint"] == "c3-lan"


async def test_a_move_that_can_not_begin_in_time_is_refused(controller: Controller, clock: Clock) -> None:
    async with town(controller):
        name = await schedule(controller, "c1-lan")
        clock.ahead = timedelta(hours=1)

        async def obstructed() -> bool:
            return "is at c1-lan of c1 already" in (await one(controller, name))["detail"]

        await settled(obstructed)
        clock.ahead += LATE
        refused = await reached(controller, name, "refused")
        assert "is at c1-lan of c1 already" in refused["detail"]
        assert [event["subject"] for event in (await controller.get("/events", type="move-refused"))["items"]] == [name]


async def test_a_move_of_a_time_without_a_controller_is_missed(controller: Controller, clock: Clock) -> None:
    async with town(controller):
        name = await schedule(controller)
        clock.ahead = timedelta(hours=1) + LATE + timedelta(minutes=1)
        assert (await reached(controller, name, "missed"))["detail"] == "no controller ran at that time"
        assert [event["subject"] for event in (await controller.get("/events", type="move-missed"))["items"]] == [name]
        assert not (await controller.get("/moves"))["items"]


async def test_a_copy_is_made_ahead_of_it(controller: Controller, clock: Clock) -> None:
    async with town(controller) as town_:
        await apply(controller, "", keep_seconds=3600)
        name = await schedule(controller, copied_before=600)
        clock.ahead = timedelta(minutes=51)

        async def copied() -> bool:
            return bool((await one(controller, name))["copy_ahead"])

        await settled(copied)
        waiting = await one(controller, name)
        assert waiting["state"] == "waiting"
        assert (await town_.over(waiting["copy_ahead"]))["ahead"]
        clock.ahead = timedelta(hours=1)
        begun = await reached(controller, name, "begun")
        assert not (await town_.over(begun["move"]))["ahead"]


async def test_without_kept_copies_it_moves_all_the_same(controller: Controller, clock: Clock) -> None:
    async with town(controller) as town_:
        name = await schedule(controller, copied_before=600)
        clock.ahead = timedelta(minutes=51)

        async def told() -> bool:
            return "no copy ahead of time: nothing would be kept" in (await one(controller, name))["detail"]

        await settled(told)
        clock.ahead = timedelta(hours=1)
        assert (await town_.over((await reached(controller, name, "begun"))["move"]))["state"] == "done"


async def test_a_copy_that_could_not_be_made_is_no_try(controller: Controller, clock: Clock) -> None:
    async with town(controller):
        name = await schedule(controller, copied_before=600)
        clock.ahead = timedelta(minutes=51)

        async def told() -> bool:
            return "no copy ahead of time" in (await one(controller, name))["detail"]

        await settled(told)
        clock.ahead = timedelta(hours=1) + LATE + timedelta(minutes=1)
        await reached(controller, name, "missed")


async def test_one_that_is_cancelled_does_not_begin(controller: Controller, clock: Clock) -> None:
    async with town(controller):
        name = await schedule(controller)
        assert (await controller.delete(f"{PATH}/{name}"))["state"] == "cancelled"
        clock.ahead = timedelta(hours=2)
        answer = await controller.http.delete(f"/api/v1{PATH}/{name}")
        problem(answer, 409, None, f"{name} waits no more: it is cancelled")
        problem(await controller.http.delete(f"/api/v1{PATH}/scheduled-0"), 404, None, "there is no scheduled move")
        assert not await found(controller, state="waiting")
        assert [row["name"] for row in await found(controller, state="cancelled", vm="v1")] == [name]


async def test_one_that_is_cancelled_just_before_its_turn_does_not_begin(controller: Controller) -> None:
    """The leader has read it as waiting already."""
    async with town(controller):
        name = await schedule(controller)
        async with controller.region.database.read() as session:
            read = await table.get(session, name)
        assert read is not None and read.state == "waiting"
        await controller.delete(f"{PATH}/{name}")
        await controller.region.migration.schedule._begin(read)
        assert not (await controller.get("/moves"))["items"]
        assert (await one(controller, name))["state"] == "cancelled"


async def test_what_is_refused(controller: Controller) -> None:
    async with town(controller):
        at = (now() + timedelta(hours=1)).isoformat()
        await controller.refused(422, PATH, {"vm": "v2", "endpoint": "c2-lan", "at": at}, "vm", "there is no VM 'v2'")
        await controller.refused(422, PATH, {"vm": "v1", "endpoint": "c9-lan", "at": at}, "endpoint", "c9-lan")
        for wrong in (now() - timedelta(seconds=1), now() + timedelta(days=400)):
            body = {"vm": "v1", "endpoint": "c2-lan", "at": wrong.isoformat()}
            await controller.refused(422, PATH, body, "at", "is not within the next 366 days")
        await controller.post(PATH, {"vm": "v1", "endpoint": "c2-lan", "at": at})
        await controller.refused(409, PATH, {"vm": "v1", "endpoint": "c2-lan", "at": at}, "at", "at that time already")


async def test_the_policys_next_moves_are_listed_and_begin(controller: Controller, clock: Clock) -> None:
    async with town(controller) as town_:
        await apply(controller, "{vms: [v1], endpoint: c2-lan, cron: '30 18 * * *', keep: true}")
        coming = upcoming("30 18 * * *", now())
        assert coming is not None
        await settled(lambda: listed(controller, coming))
        first, *more = await found(controller, state="waiting")
        assert not more and (first["asked_by"], first["keep"]) == ("policy", True)
        clock.ahead = coming - now()
        begun = await reached(controller, first["name"], "begun")
        assert (await town_.over(begun["move"]))["keep"]
        await settled(lambda: is_at(controller, "c2-lan"))
        await settled(lambda: listed(controller, coming + timedelta(days=1)))


async def listed(controller: Controller, at: datetime) -> bool:
    return [datetime.fromisoformat(row["at"]) for row in await found(controller, state="waiting")] == [at]


async def test_the_policys_moves_follow_its_changes(controller: Controller, clock: Clock) -> None:
    """One time that an operator has cancelled does not come back."""
    async with town(controller):
        await apply(controller, "{vms: [v1], endpoint: c2-lan, cron: '30 18 * * *'}")
        evening, night = upcoming("30 18 * * *", now()), upcoming("0 3 * * *", now())
        assert evening is not None and night is not None
        await settled(lambda: listed(controller, evening))
        await apply(controller, "{vms: [v1], endpoint: c3-lan, cron: '0 3 * * *'}")
        await settled(lambda: listed(controller, night))
        (waiting,) = await found(controller, state="waiting")
        assert waiting["endpoint"] == "c3-lan"
        await controller.delete(f"{PATH}/{waiting['name']}")
        clock.ahead = night - now() + timedelta(seconds=1)
        await settled(lambda: listed(controller, night + timedelta(days=1)))
        await apply(controller, "")
        await settled(lambda: nothing(controller))


async def nothing(controller: Controller) -> bool:
    return not await found(controller, state="waiting")


@pytest.mark.parametrize(
    ("cron", "after", "comes"),
    [
        ("0 18 * * 1-5", "2026-11-27T18:00:00+00:00", "2026-11-30T18:00:00+00:00"),
        ("0 18 * * 1-5", "2026-11-27T18:59:00+01:00", "2026-11-27T18:00:00+00:00"),
        ("*/15 * * * *", "2026-11-27T18:00:01+00:00", "2026-11-27T18:15:00+00:00"),
        ("0 0 29 2 *", "2026-11-27T18:00:00+00:00", "2028-02-29T00:00:00+00:00"),
    ],
)
def test_times_that_recur(cron: str, after: str, comes: str) -> None:
    assert upcoming(cron, datetime.fromisoformat(after)) == datetime.fromisoformat(comes).astimezone(UTC)
