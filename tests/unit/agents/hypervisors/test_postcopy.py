"""Recovery of post-copy after a cut path, without a QEMU: the times at which each end gives up its connection."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from agents.hypervisors import paths
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu import postcopy
from agents.hypervisors.qemu.guard import CUT
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move
from agents.hypervisors.target import HostPort
from controller.wire.moves import Target

MOVE = Move(name="m1", role="outgoing", target=Target(memory=["tcp:192.0.2.1:49152"]))


class Qemu:
    """A machine and both of its monitors: it reports the given states in turn, and records the commands."""

    def __init__(self, *states: str) -> None:
        self.name, self.told = "vm1", list[str]()
        self._states = iter(states)
        self.monitor = self.rescue = self
        self.present = True

    async def execute(self, command: str, arguments: object = None) -> dict[str, Any]:
        assert command == "query-migrate"
        return {"status": next(self._states)}

    async def out_of_band(self, command: str, arguments: object = None) -> None:
        self.told.append(command)

    @asynccontextmanager
    async def session(self) -> AsyncIterator["Qemu"]:
        yield self

    def runs(self) -> bool:
        return self.present

    def arrived(self, move: str) -> None:
        self.told.append(f"{move} has arrived")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postcopy, "_LOOK", 0.0)
    monkeypatch.setattr(postcopy, "_AGAIN", 0.0)


@pytest.fixture(autouse=True)
def hosts(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The other end's answers, in turn; the last one stays."""
    answers = [True]

    async def answered(_place: HostPort) -> bool:
        await asyncio.sleep(0)
        return answers.pop(0) if len(answers) > 1 else answers[0]

    monkeypatch.setattr(postcopy, "_answers", answered)
    return answers


def since(monkeypatch: pytest.MonkeyPatch, which: str, seconds: float) -> None:
    async def asked(places: Sequence[HostPort]) -> float:
        await asyncio.sleep(0)
        return seconds

    monkeypatch.setattr(paths, which, asked)


@pytest.mark.parametrize("seconds", [CUT + 1, float("inf"), CUT - 1])
async def test_the_source_notices_a_cut_while_it_recovers(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    since(monkeypatch, "unanswered", seconds)
    qemu = Qemu("postcopy-recover", "completed")
    await postcopy.give(cast(Vm, qemu), MOVE, multipath=False)
    assert qemu.told == (["migrate-pause"] if seconds > CUT else [])


@pytest.mark.parametrize("seconds", [CUT + 1, float("inf"), CUT - 1])
async def test_the_destination_notices_it_too(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    since(monkeypatch, "unheard", seconds)
    qemu = Qemu("postcopy-recover", "completed")
    await postcopy.take(cast(Vm, qemu), MOVE, multipath=False)
    assert qemu.told == [*(["migrate-pause"] if seconds > CUT else []), "m1 has arrived"]


@pytest.mark.parametrize(
    ("answers", "unanswered", "paused"),
    [
        ([True, False], CUT + 1, True),
        ([True, False], CUT - 1, False),
        ([True], CUT + 1, False),
        ([False], CUT + 1, False),
    ],
    ids=["cut", "the destination speaks", "the destination is quiet", "a filter drops the question"],
)
async def test_the_source_notices_a_cut_while_no_data_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch, hosts: list[bool], answers: list[bool], unanswered: float, paused: bool
) -> None:
    """All is sent, or the destination's buffer is full: TCP itself never notices."""
    hosts[:] = answers
    since(monkeypatch, "silence", 0.0)
    since(monkeypatch, "unanswered", unanswered)
    clock = iter(range(0, 1000, int(CUT)))
    monkeypatch.setattr(postcopy, "monotonic", lambda: next(clock))
    qemu = Qemu("postcopy-active", "postcopy-active", "completed")
    await postcopy.give(cast(Vm, qemu), MOVE, multipath=False)
    assert qemu.told == (["migrate-pause"] if paused else [])


async def test_a_look_that_fails_is_repeated_while_qemu_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    qemu = Qemu("postcopy-active", "postcopy-active", "postcopy-active", "never")

    async def fails(_places: Sequence[HostPort]) -> float:
        looks.append("a look")
        qemu.present = len(looks) < 3
        raise HypervisorError("'ss' failed")

    monkeypatch.setattr(paths, "silence", fails)
    await postcopy.follow(cast(Vm, qemu), MOVE, multipath=False)
    assert len(looks) == 3
