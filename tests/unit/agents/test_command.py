"""A program never outlives its call, and leaves nothing open when the loop is closed directly afterwards."""

import asyncio
import gc
import re
import tracemalloc
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

import agents
from agents import command
from lab.patience import eventually
from tests.tiers import smoke_first

ROOT = Path(agents.__file__).parents[1]

CHILD = "sleep 60 & echo $! > {0}.new; mv {0}.new {0}; wait"
"""A shell command whose child holds its pipes, and which writes the child's pid to a file."""


async def test_what_it_wrote_and_how_it_ended() -> None:
    ended = await command.run("sh", "-c", "cat; echo no >&2; exit 3", stdin="yes")
    assert ended == command.Ended(3, "yes", "no\n")


async def test_what_is_no_program_is_told() -> None:
    with pytest.raises(FileNotFoundError):
        await command.run("weft-no-such-program")


async def test_after_its_time_it_is_gone_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(TimeoutError):
        await command.run("sh", "-c", CHILD.format(pid), seconds=1)
    assert not await _lives(int(pid.read_text()))


@pytest.mark.parametrize("where", ["1", "2"])
async def test_one_that_writes_without_end_is_ended_and_takes_bounded_memory(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "LONGEST", 2**20)
    pid = tmp_path / "pid"
    tracemalloc.start()
    try:
        with pytest.raises(command.Overlong, match="sh wrote more than 1048576 bytes"):
            await command.run("sh", "-c", f"echo $$ > {pid}; exec cat /dev/zero >&{where}", seconds=60)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 2**20
    assert not await _lives(int(pid.read_text()))


async def test_one_that_reads_nothing_is_no_error() -> None:
    assert await command.run("true", stdin="x" * 2**20) == command.Ended(0, "", "")


def test_no_other_module_starts_programs_for_an_answer() -> None:
    """`command.run` limits the output of each program, and no program outlives its call."""
    there = {
        path.relative_to(ROOT).as_posix()
        for package in ("agents", "controller")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"create_subprocess|subprocess\.(run|Popen|check_)|os\.popen|os\.system", path.read_text())
    }
    lasting = "agents/hypervisors/detached.py"  # QEMU and weft-transfer, whose output goes to files
    probe = "agents/ipsec/daemon.py"  # one fixed question at the start, about this machine alone
    beside = "agents/child.py"  # what ends with the agent, and whose lines are read one by one
    own = "controller/cli/images.py"  # a command of the person who runs it
    assert there == {"agents/command.py", lasting, probe, beside, own}


def test_a_loop_that_closes_right_after_a_cancel_leaves_nothing(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    async def cancelled() -> None:
        task = asyncio.create_task(command.run("sh", "-c", CHILD.format(pid)))
        await eventually(pid.exists)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    loop = asyncio.new_event_loop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop.run_until_complete(cancelled())
        loop.close()
        gc.collect()  # a pipe or a process that is still open says so here
    assert not asyncio.run(_lives(int(pid.read_text())))


@pytest.mark.parametrize("steps", smoke_first(4, range(12)))
def test_a_cancel_while_the_program_starts_leaves_nothing(steps: int) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(command.run("sleep", "60"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    gc.collect()
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        asyncio.run(cancelled())
        gc.collect()
    assert not left, [str(one.message) for one in left]


async def _lives(pid: int) -> bool:
    """Return whether the process runs; a killed process has a moment to end."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        await asyncio.sleep(0.01)
    return True
