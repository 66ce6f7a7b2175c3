"""A VM follows its device only to a host that has room for it."""

from datetime import timedelta

import pytest

from controller.core.clock import now
from controller.core.host_room import lacks_memory, too_busy
from controller.db import host_loads
from controller.migration import machine_reports
from controller.wire.host_loads import HostLoad
from controller.wire.machines import Machine
from controller.wire.moves import MoveReport
from tests.unit.controller.conftest import Controller
from tests.unit.controller.test_follow_device import Starts, add, bandwidth, neighbour, ready

FREE = HostLoad(processors=4, busy=1.0, memory_free=8 << 30)
FULL = FREE.model_copy(update={"memory_free": 1 << 20})
BUSY = FREE.model_copy(update={"busy": 3.9})
MACHINE = Machine(
    name="v1", driver="qemu", image="i", memory=1 << 30, vcpus=2, macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b")
)


@pytest.mark.parametrize(
    ("load", "most", "reason"),
    [
        (None, 1.0, None),
        (FREE, 0.0, None),
        (FREE, 0.8, None),
        (FREE, 0.7, "c2 has 1.0 of 4 processors in use; with v1's 2 that is 0.75 for each, above 0.7"),
        (BUSY, 0.0, None),
        (FULL, 0.0, "c2 has 1.0 MiB of memory free, and v1 needs 1.0 GiB"),
    ],
)
def test_room(load: HostLoad | None, most: float, reason: str | None) -> None:
    assert (lacks_memory(MACHINE, "c2", load) or too_busy(MACHINE, "c2", load, most)) == reason


async def tell(controller: Controller, load: HostLoad | None) -> None:
    async with controller.region.database.write() as session:
        await machine_reports.heard(session, controller.region.intent, MoveReport(cloudlet="c2", load=load))


async def predicted(controller: Controller) -> tuple[str, str]:
    found = await controller.get("/moves/prediction", vm="web", endpoint="c2-lan")
    return found["course"], "; ".join(found["reasons"])


@pytest.mark.slow
async def test_a_host_without_memory_is_not_followed_to_until_it_has_some(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ready(controller, Starts())
    await add(controller, neighbour(20.0), bandwidth(1000))
    before = await predicted(controller)
    assert before[0] == "move"
    await tell(controller, FULL)
    course, reasons = await predicted(controller)
    assert course == "stay" and "c2 has 1.0 MiB of memory free" in reasons
    await tell(controller, FREE)  # a moment later, and not stored
    assert (await predicted(controller))[0] == "stay"
    later = now() + timedelta(seconds=30)
    monkeypatch.setattr(host_loads, "now", lambda: later)
    await tell(controller, FREE)
    assert await predicted(controller) == before
    await tell(controller, None)  # an agent of an older release
    assert await predicted(controller) == before


@pytest.mark.slow
async def test_a_load_that_is_stale_says_nothing(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    await ready(controller, Starts())
    await add(controller, neighbour(20.0), bandwidth(1000))
    before = await predicted(controller)
    await tell(controller, FULL)
    assert (await predicted(controller))[0] == "stay"
    later = now() + host_loads.STALE + timedelta(seconds=1)
    monkeypatch.setattr(host_loads, "now", lambda: later)
    assert await predicted(controller) == before
