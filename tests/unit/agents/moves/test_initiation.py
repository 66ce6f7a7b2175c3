"""A machine that starts anew beside the one that serves, and the end of the older one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agents.hypervisors.hypervisor import Capabilities, HypervisorError
from agents.hypervisors.simulated import SimulatedHypervisor
from agents.hypervisors.simulated.machines import Machines
from agents.moves import initiation as module
from controller.wire.initiations import Initiation
from controller.wire.machines import client_id
from controller.wire.moves import Addresses, Order
from tests.unit.agents.moves.region import MACHINE, Region, region

NEW = ("c2-lan", "10.2.0.3", MACHINE.macs[1])
ANEW = Initiation()
BRIEF = Addresses(old="10.1.0.3", new="10.2.0.3", linger=0.01)


@pytest_asyncio.fixture
async def two(tmp_path: Path) -> AsyncIterator[Region]:
    """Two cloudlets; the machine runs at c1, and its new address at c2 is leased."""
    async with region(tmp_path) as made:
        made.c2.leases.append(NEW)
        assert (await made.carry("c1", "start", move="m0")).state == "done"
        yield made


def tried(monkeypatch: pytest.MonkeyPatch, *failures: str) -> list[tuple[str, str]]:
    """Let the check fail with these texts, and then succeed; return the list of its tries."""
    left, found = list(failures), list[tuple[str, str]]()

    async def answers(check: str, address: str, bridge: str) -> None:
        found.append((check, address))
        if left:
            raise HypervisorError(left.pop(0))

    monkeypatch.setattr(module, "answers", answers)
    monkeypatch.setattr(module, "_AGAIN", 0.01)
    return found


async def guests_that_run_programs(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start c2's agent again, with such a driver."""

    async def capabilities(self: SimulatedHypervisor) -> Capabilities:
        return Capabilities(version="simulated 1", disk=True, guest=True)

    monkeypatch.setattr(SimulatedHypervisor, "capabilities", capabilities)
    await two.c2.stop()
    two.c2.start()


async def test_the_whole_course(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = tried(monkeypatch, "refused", "refused")
    anew = Initiation(check="tcp:80")
    done = await two.carry("c2", "initiate", initiation=anew)
    assert done.state == "done" and done.figures.seconds is not None, done
    assert tries == [("tcp:80", "10.2.0.3")] * 3
    assert (two.c1.condition(), two.c2.condition()) == ("running", "running")
    record = Machines(two.c2.state).read("vm1")
    assert record is not None and (record.links, record.serving) == ({"a": False, "b": True}, "b")
    assert two.c2.door == [("admit", "initiate")] and [where for where, _ in two.c2.met] == ["c2-lan"]
    assert (await two.carry("c1", "leave", initiation=anew, addresses=BRIEF)).state == "done"
    old = Machines(two.c1.state).read("vm1")
    assert old is not None and (old.condition, old.links["a"]) == ("running", False)
    assert (await two.carry("c1", "discard", initiation=anew)).state == "done"
    assert (two.c1.condition(), two.c2.condition()) == ("gone", "running")
    (released,) = two.c1.released
    assert (released.endpoint, released.address, released.mac) == ("c1-lan", "10.1.0.3", MACHINE.macs[0])
    assert two.c1.door[-1] == ("dismiss", "discard")


async def test_without_a_check_the_lease_counts(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AGAIN", 0.01)
    two.c2.leases.clear()
    order = two.make("c2", "initiate", initiation=ANEW)
    two.c2.order(order)
    await two.c2.becomes("running")
    await asyncio.sleep(0.05)
    assert all(progress.state == "running" for progress in two.c2.ear.heard)
    two.c2.leases.append(NEW)
    assert (await two.c2.ear.ended(order.number)).state == "done"


async def test_a_service_that_does_not_answer_fails_the_order_and_is_removed(
    two: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried(monkeypatch, *(["nobody listens"] * 1000))
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    failed = await two.carry("c2", "initiate", initiation=Initiation(check="tcp:80"))
    assert failed.state == "failed" and "nobody listens" in failed.detail
    assert (await two.carry("c2", "abort", initiation=ANEW)).state == "done"
    assert (two.c1.condition(), two.c2.condition()) == ("running", "gone")
    (released,) = two.c2.released
    assert (released.endpoint, released.address, released.mac) == NEW
    assert released.client_id == client_id("vm1") and two.c2.door[-1] == ("dismiss", "abort")


async def test_a_machine_that_ends_by_itself_is_refused(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    tried(monkeypatch, *(["nobody listens"] * 1000))
    order = two.make("c2", "initiate", initiation=Initiation(check="tcp:80"))
    two.c2.order(order)
    await two.c2.becomes("running")
    Machines(two.c2.state).turn("vm1", condition="stopped")
    ended = await two.c2.ear.ended(order.number)
    assert ended.state == "refused" and "ended by itself" in ended.detail


async def test_another_machine_of_that_name_is_never_touched(two: Region) -> None:
    assert (await two.carry("c2", "start", move="m9")).state == "done"
    refused = await two.carry("c2", "initiate", initiation=ANEW)
    assert refused.state == "refused" and "already" in refused.detail
    assert (await two.carry("c2", "abort", initiation=ANEW)).state == "done"
    assert two.c2.condition() == "running" and two.c2.released == []


@pytest.mark.parametrize("then", ["done", "abort"])
async def test_an_agent_that_restarts_knows_its_own_machine(
    two: Region, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    tried(monkeypatch, *(["nobody listens"] * 3))
    monkeypatch.setattr(module, "_AGAIN", 60.0)
    order = two.make("c2", "initiate", initiation=Initiation(check="tcp:80"))
    two.c2.order(order)
    await two.c2.becomes("running")
    before = Machines(two.c2.state).read("vm1")
    await two.c2.stop()
    two.c2.start()
    if then == "abort":
        assert (await two.carry("c2", "abort", initiation=ANEW)).state == "done"
        assert two.c2.condition() == "gone"
        return
    tried(monkeypatch)
    two.c2.order(order)
    assert (await two.c2.ear.ended(order.number)).state == "done"
    after = Machines(two.c2.state).read("vm1")
    assert before is not None and after is not None and before.boot == after.boot, "it is booted once"


async def test_the_handover_runs_in_the_new_machine(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, ...]] = []

    async def guest(self: Any, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        ran.append((self._directory.parents[1].name, name, program, *arguments))
        return "taken over"

    monkeypatch.setattr(SimulatedHypervisor, "guest", guest)
    await guests_that_run_programs(two, monkeypatch)
    done = await two.carry("c2", "initiate", initiation=Initiation(handover="/opt/take-over"))
    assert done.state == "done" and ran == [("c2", "vm1", "/opt/take-over", "10.1.0.3", "10.2.0.3")]


async def test_a_handover_that_fails_fails_the_order(two: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    await guests_that_run_programs(two, monkeypatch)
    failed = await two.carry("c2", "initiate", initiation=Initiation(handover="/opt/take-over"))
    assert failed.state == "failed" and "no guest" in failed.detail


async def test_a_driver_that_runs_no_programs_starts_nothing(two: Region) -> None:
    refused = await two.carry("c2", "initiate", initiation=Initiation(handover="/opt/take-over"))
    assert refused.state == "refused" and "no programs in guests, such as /opt/take-over" in refused.detail
    assert two.c2.condition() == "gone"


async def test_a_machine_that_has_ended_does_not_linger(two: Region) -> None:
    Machines(two.c1.state).turn("vm1", condition="stopped")
    slow = BRIEF.model_copy(update={"linger": 3600.0})
    assert (await two.carry("c1", "leave", initiation=ANEW, addresses=slow)).state == "done"
    for _ in range(2):  # the second order finds nothing
        assert (await two.carry("c1", "discard", initiation=ANEW)).state == "done"
    assert two.c1.condition() == "gone"


async def test_the_agent_tells_that_it_can(two: Region) -> None:
    assert two.c1.ear.initiates == [["simulated"]], "once"


def test_an_older_controller_gets_no_new_fields() -> None:
    old = Order(move="m1", number=1, act="start", machine=MACHINE, endpoint="c1-lan")
    assert "initiation" not in old.model_dump_json()
