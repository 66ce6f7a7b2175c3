"""Tasks that end together: by an error, by a cancellation, and by both at the same moment."""

import asyncio

import pytest

from controller.runtime.task_group import task_group


class Away(Exception):  # noqa: N818 - as those are that it is for
    pass


class Work:
    """Tasks that run forever, or fail on request."""

    def __init__(self) -> None:
        self.fail, self.ended = asyncio.Event(), 0

    async def for_ever(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1

    async def failing(self, why: str) -> None:
        await self.fail.wait()
        raise Away(why)


async def begun(work: Work, *names: str) -> asyncio.Task[None]:
    task = asyncio.create_task(task_group(work.for_ever(), *(work.failing(name) for name in names)))
    await asyncio.sleep(0.01)
    return task


async def test_an_error_ends_all(caplog: pytest.LogCaptureFixture) -> None:
    work = Work()
    task = await begun(work, "first", "second")
    work.fail.set()
    with pytest.raises(Away, match="first"):
        await task
    assert work.ended == 1 and "Away('second')" in caplog.text


async def test_a_cancellation_ends_all() -> None:
    work = Work()
    task = await begun(work, "never")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.ended == 1


@pytest.mark.parametrize("turns", range(5))
async def test_a_cancellation_is_never_lost(turns: int) -> None:
    """At whatever moment the error arrives, the task that would try again is cancelled."""
    work = Work()

    async def stubborn() -> None:
        while True:
            try:
                await task_group(work.for_ever(), work.failing("away"))
            except Away:
                work.fail.clear()

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0.01)
    work.fail.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)
    assert done and task.cancelled()


async def test_one_that_returns_ends_nobody() -> None:
    work, there = Work(), asyncio.Event()

    async def short() -> None:
        there.set()

    task = asyncio.create_task(task_group(short(), work.for_ever()))
    await there.wait()
    await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await task_group(short())
