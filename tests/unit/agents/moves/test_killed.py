"""An agent that is killed (kill -9, a real process) at every point of a move, and started again."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from controller.wire.moves import Act, Order
from tests.unit.agents.moves.region import WAY, Cloudlet, Region, region

pytestmark = pytest.mark.slow

POINTS: dict[Act, tuple[str, ...]] = {
    "prepare": ("prepare", "prepare.after"),
    "disk": ("disk", "disk.half", "disk.after"),
    "memory": ("memory", "memory.half", "memory.after"),
    "switchover": ("switchover", "switchover.paused", "switchover.handed", "switchover.after"),
    "activate": ("activate", "activate.after", "announce.after"),
    "discard": ("discard", "discard.after"),
}
"""The points of each act at which the agent is killed."""

ACTS = [act for _, act in WAY]
WHO = {act: name for name, act in WAY}
GOES_ON = [(act, point) for act, points in POINTS.items() for point in points]
IS_ABORTED = [(act, point) for act, point in GOES_ON if ACTS.index(act) <= ACTS.index("switchover")]


async def killed(cloudlet: Cloudlet, order: Order) -> None:
    """Carry out the order in a process until that is killed."""
    await cloudlet.stop()
    command = ("-m", "tests.unit.agents.moves.process", cloudlet.name, str(cloudlet.directory), order.model_dump_json())
    process = await asyncio.create_subprocess_exec(sys.executable, *command)
    async with asyncio.timeout(60):
        assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(("act", "point"), GOES_ON)
async def test_killed_it_goes_on(tmp_path: Path, act: Act, point: str) -> None:
    async with region(tmp_path) as two:
        order = await started_again(two, act, point)
        cloudlet = two.cloudlet(WHO[act])
        cloudlet.order(order)
        ended = await cloudlet.ear.ended(order.number)
        assert ended.state == "done", ended
        two.target = ended.target or two.target
        for name, then in WAY[ACTS.index(act) + 1 :]:
            ended = await two.carry(name, then)
            assert ended.state == "done", ended
            assert [two.c1.condition(), two.c2.condition()].count("running") <= 1
        assert (two.c1.condition(), two.c2.condition()) == ("gone", "running")


@pytest.mark.parametrize("point", POINTS["switchover"])
async def test_started_again_it_never_says_that_there_is_no_machine(tmp_path: Path, point: str) -> None:
    """Before its first look the agent knows no machines; a report of none would make the controller take them for
    gone."""
    async with region(tmp_path) as two:
        order = await started_again(two, "switchover", point)
        two.c1.ear.listed.clear()
        two.c1.order(order)
        assert (await two.c1.ear.ended(order.number)).state == "done"
        assert two.c1.ear.listed and all("vm1" in listed for listed in two.c1.ear.listed)


@pytest.mark.parametrize(("act", "point"), IS_ABORTED)
async def test_killed_it_is_aborted(tmp_path: Path, act: Act, point: str) -> None:
    async with region(tmp_path) as two:
        await started_again(two, act, point)
        for name in ("c2", "c1"):
            assert (await two.carry(name, "abort")).state == "done"
        assert (two.c1.condition(), two.c2.condition()) == ("running", "gone")


async def started_again(two: Region, act: Act, point: str) -> Order:
    """Kill the agent while it carries out an order, and start it again; return the order. The agent has no new orders
    yet."""
    cloudlet = two.cloudlet(WHO[act])
    await two.until(act)
    cloudlet.faults.set(point, "kills")
    order = two.make(cloudlet.name, act)
    await killed(cloudlet, order)
    assert [two.c1.condition(), two.c2.condition()].count("running") <= 1
    cloudlet.start()
    return order
