"""Moves under a controller that dies and comes back."""

import pytest

from tests.unit.controller.conftest import Start
from tests.unit.controller.fake_mover import running, settled
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.moving_town import Town, again, end, is_at_step, town

pytestmark = pytest.mark.slow

STEPS = ["authorise", "prepare", "memory", "switchover", "activate", "join", "discard"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_controller_that_dies_at_a_step_goes_on(start: Start, route_server: FakeRouteServer, step: str) -> None:
    async with start(route_server) as first, town(first) as town_:
        for mover in town_.movers.values():
            mover.deaf.add(step)
        name = await town_.start()
        if step != "authorise":
            await settled(lambda: is_at_step(first, name, step))
        credentials = {n: m.agent.headers for n, m in town_.movers.items()}
        there = dict(town_.there)
    async with start(route_server) as second:
        movers = await again(second, credentials, there)
        try:
            town_ = Town(second, movers, there)
            move = await town_.over(name)
            assert move["state"] == "done", move
            assert running(there, "v1") == ["c2"] and ("c1", "v1") not in there
        finally:
            await end(movers)
