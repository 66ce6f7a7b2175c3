"""A program never outlives its call, and leaves nothing open when the loop is closed right after."""

import asyncio
import gc
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from agents import command
from lab.patience import eventually

CHILD = "sleep 60 & echo $! > {0}.new; mv {0}.new {0}; wait"
"""A shell whose child holds its pipes, and which says the child's pid."""


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


async def _lives(pid: int) -> bool:
    """Whether it runs; one that was killed has a moment to go."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        await asyncio.sleep(0.01)
    return True
