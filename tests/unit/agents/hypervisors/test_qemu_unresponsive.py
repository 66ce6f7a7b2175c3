"""Several machines, one of whose QEMUs does not respond."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest
import pytest_asyncio

from agents.hypervisors.hypervisor import Attachment, Fenced, Site
from agents.hypervisors.qemu import monitor, vm
from agents.hypervisors.qemu.condition import DEAF, SILENT
from agents.hypervisors.qemu.hypervisor import Qemu
from agents.hypervisors.qemu.monitor import MonitorAway
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move, Record
from controller.wire.machines import Machine
from controller.wire.moves import Figures, Target, Tuning

GREETING = {"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 2}, "package": ""}, "capabilities": []}}
ANSWERS = {
    "query-status": {"status": "running"},
    "query-migrate": {},
    "query-yank": [],
    "query-block-jobs": [],
    "qom-get": {"stats": {}},
    "query-dirty-rate": {"status": "measuring"},
}
LAN = Attachment("lan1", 1400)


@dataclass
class Program:
    """The monitor of a QEMU. `deaf`: it does not answer, like a stopped process. `last`: the command after which it
    answers no more, because it ends (`ends`) or hangs."""

    deaf: bool = False
    slow: float = 0.0
    runs: bool = True
    last: str = ""
    ends: bool = False
    answers: dict[str, object] = field(default_factory=dict)
    guests: "set[asyncio.Task[None]]" = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self.guests.add(task)
        with suppress(ConnectionError):  # the client may have closed without reading the answer
            await self.answer(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.deaf:
            writer.write(json.dumps(GREETING).encode() + b"\n")
        while line := await reader.read(4096):  # each client waits for its answer
            said = json.loads(line)
            if said["execute"] == self.last:
                self.runs, self.deaf = self.runs and not self.ends, True
                if self.ends:
                    return
            await asyncio.sleep(self.slow)
            if not self.deaf:
                answer = {"return": (ANSWERS | self.answers).get(said["execute"], {}), "id": said.get("id")}
                writer.write(json.dumps(answer).encode() + b"\n")


class Fake(Vm):
    """A VM with a `Program` instead of a process."""

    program: Program

    def runs(self) -> bool:
        return self.program.runs

    async def remove(self, disk: bool = True) -> None:
        self.program.runs = False


@dataclass
class Bed:
    """One cloudlet's driver and its machines' programs, by name."""

    driver: Qemu
    programs: dict[str, Program]

    async def told(self) -> dict[str, tuple[str, str]]:
        return {name: (state.condition, state.detail) for name, state in (await self.driver.machines()).items()}

    def keep(self, name: str, move: Move) -> None:
        """Record that the machine is in that move."""
        vm = self.driver._vm(name)
        kept = vm.known()
        kept.move = move
        vm.save(kept)


@pytest_asyncio.fixture
async def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bed]:
    for what, seconds in ((monitor, "PATIENCE"), (vm, "_LOOK")):
        monkeypatch.setattr(what, seconds, 0.4)
    monkeypatch.setattr(vm, "_ANSWER", 0.2)
    monkeypatch.setattr(vm, "_SILENCE", 1.0)
    programs = {name: Program() for name in ("vm1", "vm2", "vm3")}

    def make(folder: Path) -> Vm:
        made = Fake(folder)
        made.program = programs[folder.name]
        return made

    driver = Qemu(Site("c1", tmp_path, tmp_path, "127.0.0.1", options={"shutdown_seconds": "1"}), make)
    async with AsyncExitStack() as stack:
        for name, program in programs.items():
            machine = Machine(name=name, driver="qemu", image="lab", memory=1 << 24, macs=("02:00:00:00:00:0a",) * 2)
            folder = driver.folder(name)
            Vm(folder).save(Record(machine=machine, bridge="lan1", mtu=1400, serving="a", links={"a": True}))
            await stack.enter_async_context(await asyncio.start_unix_server(program.serve, folder / "monitor"))
        yield Bed(driver, programs)
    async with asyncio.timeout(5):
        await asyncio.gather(*(guest for program in programs.values() for guest in program.guests))


async def test_it_is_told_alone_and_keeps_nobody_waiting(bed: Bed) -> None:
    for name in ("vm1", "vm3"):
        bed.programs[name].deaf = True
    began = monotonic()
    assert await bed.told() == {
        "vm1": ("unresponsive", SILENT),
        "vm2": ("running", ""),
        "vm3": ("unresponsive", SILENT),
    }
    assert monotonic() - began < 0.8, "they were asked one after the other"


async def test_a_moment_is_waited_for_and_when_it_answers_it_runs(bed: Bed) -> None:
    program = bed.programs["vm1"]
    assert (await bed.told())["vm1"] == ("running", "")
    program.deaf = True
    assert (await bed.told())["vm1"] == ("running", ""), "it may be busy"
    await asyncio.sleep(1.0)
    assert (await bed.told())["vm1"] == ("unresponsive", SILENT)
    state = (await bed.driver.machines())["vm1"]
    assert state.serving == "a" and state.memory_used is None
    program.deaf = False
    assert (await bed.told())["vm1"] == ("running", "")


async def test_a_monitor_that_serves_somebody_else_is_not_silent(bed: Bed) -> None:
    assert (await bed.told())["vm1"] == ("running", "")
    async with bed.driver._vm("vm1").monitor.session() as session:
        for _ in range(6):
            await session.execute("query-migrate")
            assert (await bed.told())["vm1"] == ("running", "")
    bed.programs["vm1"].slow = 0.2
    assert (await bed.told())["vm1"] == ("running", "")


async def test_nobody_starts_holds_or_discards_what_may_run(bed: Bed) -> None:
    bed.programs["vm1"].deaf = True
    machine = bed.driver._vm("vm1").known().machine
    target = Target(memory=["tcp:127.0.0.1:1"])
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: bed.driver.start(machine, LAN, "a"),
        lambda: bed.driver.prepare(machine, LAN, "a", "m1", Tuning()),
        lambda: bed.driver.hold("vm1"),
        lambda: bed.driver.discard("vm1"),
        lambda: anext(bed.driver.memory("vm1", "m1", target, Tuning())),
        lambda: bed.driver.switchover("vm1", "m1"),
        lambda: bed.driver.abort("vm1", "m1"),
    ]
    for call in calls:
        with pytest.raises(MonitorAway, match="vm1: QEMU's monitor does not answer"):
            await call()
    assert bed.programs["vm1"].runs
    bed.programs["vm1"].deaf = False
    await bed.driver.abort("vm1", "m1")
    assert bed.driver._vm("vm1").known().move is None and (await bed.told())["vm1"] == ("running", "")


async def test_a_stop_ends_it(bed: Bed) -> None:
    bed.programs["vm1"].deaf = True
    await bed.driver.stop("vm1")
    assert not bed.programs["vm1"].runs and (await bed.told())["vm1"][0] == "stopped"


async def test_what_came_here_is_ended_by_an_abort_and_what_has_left_by_a_discard(bed: Bed) -> None:
    bed.keep("vm1", Move(name="m1", role="incoming"))
    bed.keep("vm2", Move(name="m1", role="outgoing", handed=Figures()))
    bed.keep("vm3", Move(name="m1", role="outgoing", handed=Figures(), tuning=Tuning(post_copy=True)))
    for program in bed.programs.values():
        program.deaf = True
    await bed.driver.abort("vm1", "m1")
    await bed.driver.discard("vm2")
    with pytest.raises(MonitorAway):
        await bed.driver.discard("vm3")  # the destination may need some of its memory
    assert [name for name, program in bed.programs.items() if program.runs] == ["vm3"]


async def test_only_one_whose_memory_is_on_the_way_is_taken_to_wait_for_it(bed: Bed) -> None:
    bed.programs["vm1"].deaf = True
    bed.keep("vm1", Move(name="m1", role="arrived", tuning=Tuning(post_copy=True)))
    assert (await bed.told())["vm1"] == ("running", DEAF)
    bed.driver._vm("vm1").arrived("m0")
    assert (await bed.told())["vm1"] == ("running", DEAF)
    bed.driver._vm("vm1").arrived("m1")
    assert (await bed.told())["vm1"] == ("unresponsive", SILENT)


async def test_a_record_that_cannot_be_read_is_told_of_that_machine_alone(bed: Bed) -> None:
    (bed.driver.folder("vm1") / "machine.json").write_text("{")
    told = await bed.told()
    assert told["vm1"][0] == "unresponsive" and "cannot be read" in told["vm1"][1]
    assert told["vm2"] == ("running", "")


HERE: dict[str, object] = {"query-status": {"status": "paused"}, "query-migrate": {"status": "completed"}}


@pytest.mark.parametrize(("ends", "condition"), [(True, "stopped"), (False, "unresponsive")])
async def test_a_qemu_that_was_told_to_run_and_ends_or_hangs_has_run(bed: Bed, ends: bool, condition: str) -> None:
    """Nobody knows how far the machine came, so the source's older state must not run again."""
    bed.keep("vm1", Move(name="m1", role="incoming"))
    program = bed.programs["vm1"]
    program.answers, program.last, program.ends = HERE, "cont", ends
    await bed.driver.activate("vm1", "m1")
    assert await bed.driver.arrived("vm1", "m1")
    await asyncio.sleep(1.1)
    assert (await bed.told())["vm1"][0] == condition
    await bed.driver.activate("vm1", "m1")


@pytest.mark.parametrize("command", ["query-migrate", "query-status", "nbd-server-stop"])
async def test_a_qemu_that_ends_before_it_was_told_to_run_has_not_run(bed: Bed, command: str) -> None:
    bed.keep("vm1", Move(name="m1", role="incoming"))
    program = bed.programs["vm1"]
    program.answers, program.last, program.ends = HERE, command, True
    with pytest.raises(MonitorAway):
        await bed.driver.activate("vm1", "m1")
    assert not await bed.driver.arrived("vm1", "m1")
    with pytest.raises(Fenced):
        await bed.driver.activate("vm1", "m1")
