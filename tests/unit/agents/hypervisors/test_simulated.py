"""Behaviour that only the simulated driver has: faults at a point, time, two directories. tests/conformance checks the
rules of the interface."""

from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import Attachment, Fenced, HypervisorError, Refused, Site
from agents.hypervisors.simulated import SimulatedHypervisor
from agents.hypervisors.simulated.precopy import Rates, rounds
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Figures, Tuning

LAN = Attachment("lan1", 1500)
VM = Machine(
    name="vm1",
    driver="simulated",
    image="tiny",
    memory=1 << 24,
    macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b"),
    disk=Disk(base="tiny", bytes=1 << 20),
)


def hypervisor(directory: Path, **options: str) -> SimulatedHypervisor:
    directory.mkdir(exist_ok=True)
    return SimulatedHypervisor(Site("c1", directory, directory, "192.0.2.1", options={"speed": "1000", **options}))


async def copied(here: SimulatedHypervisor, there: SimulatedHypervisor, tuning: Tuning | None = None) -> list[Figures]:
    """Do all steps of a move before the switchover; return the figures."""
    await here.start(VM, LAN, "a")
    tuning = tuning or Tuning()
    target = await there.prepare(VM, LAN, "a", "m1", tuning)
    figures = [figures async for figures in here.disk("vm1", "m1", target, tuning)]
    return figures + [figures async for figures in here.memory("vm1", "m1", target, tuning)]


async def condition(of: SimulatedHypervisor) -> str:
    found = await of.machines()
    return found["vm1"].condition if "vm1" in found else "gone"


async def test_a_move_carries_the_same_machine_over(tmp_path: Path) -> None:
    here, there = hypervisor(tmp_path / "c1"), hypervisor(tmp_path / "c2")
    figures = await copied(here, there)
    assert figures[-1].done == figures[-1].total and figures[-1].memory_used == 1 << 23
    booted = (await here.machines())["vm1"].detail
    await here.switchover("vm1", "m1")
    await there.activate("vm1", "m1")
    assert (await condition(here), await condition(there)) == ("moved", "running")
    assert (await there.machines())["vm1"].detail == booted and booted.startswith("simulated")


@pytest.mark.parametrize("point", ["switchover", "switchover.paused", "switchover.handed"])
async def test_a_switchover_that_fails_can_be_finished_or_aborted(tmp_path: Path, point: str) -> None:
    here, there = hypervisor(tmp_path / "c1"), hypervisor(tmp_path / "c2")
    await copied(here, there)
    here.faults.set(point, "fails", times=2)
    for _ in range(2):
        with pytest.raises(HypervisorError, match=f"simulated failure at {point}"):
            await here.switchover("vm1", "m1")
        assert await condition(here) in ("running", "paused")
    await here.switchover("vm1", "m1")
    assert await condition(here) == "moved"
    await here.abort("vm1", "m1")
    await there.abort("vm1", "m1")
    assert (await condition(here), await condition(there)) == ("running", "gone")


async def test_a_machine_that_dies_is_stopped(tmp_path: Path) -> None:
    here, there = hypervisor(tmp_path / "c1"), hypervisor(tmp_path / "c2")
    here.faults.set("memory.half", "dies")
    with pytest.raises(HypervisorError, match="died"):
        await copied(here, there)
    assert await condition(here) == "stopped"


async def test_a_destination_that_dies_is_noticed(tmp_path: Path) -> None:
    here, there = hypervisor(tmp_path / "c1"), hypervisor(tmp_path / "c2")
    await copied(here, there)
    there.die("vm1")
    with pytest.raises(HypervisorError, match="does not wait"):
        await here.switchover("vm1", "m1")
    assert await condition(here) == "running"
    with pytest.raises(Fenced):
        await there.activate("vm1", "m1")


async def test_full(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no room"):
        await hypervisor(tmp_path, room=str((1 << 24) - 1)).prepare(VM, LAN, "a", "m1", Tuning())


async def test_an_older_moves_activation_does_not_wake_what_leaves(tmp_path: Path) -> None:
    here, there, next = (hypervisor(tmp_path / name) for name in ("c1", "c2", "c3"))
    await copied(here, there)
    await here.switchover("vm1", "m1")
    await there.activate("vm1", "m1")
    target = await next.prepare(VM, LAN, "a", "m2", Tuning())
    async for _ in there.memory("vm1", "m2", target, Tuning()):
        pass
    await there.switchover("vm1", "m2")
    with pytest.raises(Fenced):
        await there.activate("vm1", "m1")
    assert await condition(there) == "moved"


def test_rounds_shrink_or_are_made_to() -> None:
    calm = [*rounds(Rates(100, 10, 800), Tuning(downtime_ms=50))]
    assert calm == [100, 10]
    busy = Rates(100_000_000, 200_000_000, 800_000_000)
    assert len([*rounds(busy, Tuning())]) < 50
    endless = rounds(busy, Tuning(auto_converge=False))
    assert {next(endless) for _ in range(50)} == {100_000_000}
