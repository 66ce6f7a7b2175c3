"""History of round trips: rounds become hours and days, and are thrown away in time."""

from datetime import UTC, timedelta
from typing import Any

from controller.core.clock import now
from controller.core.neighbour_history import HOUR, LATE, start
from tests.unit.controller.conftest import Controller
from tests.unit.controller.neighbour_reports import clock as clock
from tests.unit.controller.neighbour_reports import measured, rows, told, two
from tests.unit.controller.neighbour_reports import quickly as quickly


async def test_rounds_become_hours_and_days_and_are_thrown_away_in_time(controller: Controller, clock: Any) -> None:
    one, _ = await two(controller)
    midnight = start(now(), 86400) + timedelta(days=1)
    clock.ahead = midnight + timedelta(minutes=1) - now()
    number = 0
    for hour in range(30):
        clock.ahead = midnight + timedelta(hours=hour, minutes=2) - now()
        await told(one, "c1", *(measured(number + i, "c2", 10.0 + hour, age=60 - 20 * i) for i in range(3)))
        number += 3
    clock.forward(hours=1, seconds=LATE.total_seconds())
    for _ in range(8):
        await controller.region.agents.neighbours.sweep()
    hours = await rows(controller, 3600)
    assert [(h.rounds, h.sent, h.median_ms, h.p95_ms) for h in hours] == [
        (3, 15, 10.0 + i, 20.0 + 2 * i) for i in range(30)
    ]
    (day,) = await rows(controller, 86400)
    assert day.at.astimezone(UTC) == midnight and day.rounds == 72 and day.median_ms == 21.5
    kept = await rows(controller, 0)
    assert 60 <= len(kept) <= 75 and min(r.at for r in kept).astimezone(UTC) > clock.now() - timedelta(hours=25)
    past = await controller.get("/neighbours/history", cloudlet="c1", neighbour="c2", span="hour", limit=7)
    more = await controller.get("/neighbours/history", cloudlet="c1", neighbour="c2", span="hour", cursor=past["next"])
    assert [p["at"] for p in past["items"] + more["items"]] == sorted(
        h.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for h in hours
    )
    clock.forward(days=31)
    await told(one, "c1", measured(number, "c2"))
    clock.forward(hours=2)
    for _ in range(130):
        await controller.region.agents.neighbours.sweep()
    assert len(await rows(controller, 3600)) == 1 and len(await rows(controller, 0)) <= 1
    assert [d.rounds for d in await rows(controller, 86400)] == [72, 18]


async def test_what_comes_late_is_rolled_up_again_and_doing_it_twice_changes_nothing(
    controller: Controller, clock: Any
) -> None:
    one, _ = await two(controller)
    hour = start(now(), HOUR) + timedelta(days=1)
    clock.ahead = hour + timedelta(minutes=10) - now()
    await told(one, "c1", measured(0, "c2", 10.0))
    clock.forward(hours=1)
    await controller.region.agents.neighbours.sweep()
    assert [(h.rounds, h.median_ms) for h in await rows(controller, HOUR)] == [(1, 10.0)]
    await told(one, "c1", measured(1, "c2", 20.0, age=3500))
    for _ in range(3):
        await controller.region.agents.neighbours.sweep()
    assert [(h.rounds, h.median_ms) for h in await rows(controller, HOUR)] == [(2, 15.0)]
