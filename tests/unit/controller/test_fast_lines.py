"""A move over a thin line that finds it fast: later moves on that link need none."""

from datetime import timedelta
from typing import Any

import pytest

from controller.core.clock import now
from controller.migration import move_planning
from controller.migration.fast_lines import FAST_FOR
from controller.wire.moves import Order
from controller.wire.platforms import Platform
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_mover import FIGURES
from tests.unit.controller.moving_town import Town, town
from tests.unit.controller.test_platforms import HERE, tell

pytestmark = pytest.mark.slow

PAGES = {"zero": 10, "same": 0, "known": 5, "delta": 0, "literal": 5}
KNOWS = HERE.model_copy(update={"direct": True})


class Line:
    """Movers that report whether the line is fast, and note what they were told."""

    def __init__(self, town_: Town) -> None:
        self.fast, self.told = True, dict[str, bool]()
        for mover in town_.movers.values():
            mover.broken = self._report

    def _report(self, order: Order) -> dict[str, Any] | None:
        if order.act not in ("prepare", "memory"):
            return None
        self.told[order.act] = order.tuning.direct
        if order.act == "prepare" or order.tuning.direct:
            return None
        return {"figures": FIGURES["memory"] | {"pages": PAGES | ({"fast": True} if self.fast else {})}}

    async def move(self, town_: Town, endpoint: str) -> bool:
        """Move the VM; return whether both ends were told to go without a thin line."""
        self.told.clear()
        assert (await town_.over(await town_.start(endpoint)))["state"] == "done"
        assert set(self.told) == {"prepare", "memory"} and len(set(self.told.values())) == 1, self.told
        return self.told["memory"]


async def known(controller: Controller, *platforms: Platform) -> None:
    for name, platform in zip(("c1", "c2"), platforms, strict=True):
        await tell(controller, name, "simulated", platform)


async def test_the_next_move_on_a_fast_line_is_direct(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a move finds it slow, or a week has passed. Each direction is a line of its own."""
    async with town(controller) as town_:
        await known(controller, KNOWS, KNOWS)
        line = Line(town_)
        there = [await line.move(town_, endpoint) for endpoint in ("c2-lan", "c1-lan", "c2-lan", "c1-lan")]
        assert there == [False, False, True, True]
        went = [one["direct"] for one in (await controller.get("/profiles"))["items"]]
        assert went == [True, True, False, False]  # the latest first
        predicted = await controller.get("/moves/prediction", vm="v1", endpoint="c2-lan")
        assert predicted["estimate"]["inputs"]["ratio"]["origin"] == "its own past moves without a thin line"
        monkeypatch.setattr(move_planning, "now", lambda: now() + FAST_FOR + timedelta(seconds=1))
        line.fast = False
        assert not await line.move(town_, "c2-lan")
        monkeypatch.setattr(move_planning, "now", now)
        assert [await line.move(town_, endpoint) for endpoint in ("c1-lan", "c2-lan")] == [True, False]


async def test_an_agent_that_does_not_know_of_it_is_not_told(controller: Controller) -> None:
    async with town(controller) as town_:
        await known(controller, KNOWS, HERE)
        line = Line(town_)
        assert not any([await line.move(town_, endpoint) for endpoint in ("c2-lan", "c1-lan", "c2-lan")])
