"""Work whose result is shared: once at a time, never one that began before the question, and one failure for all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controller.runtime.shared_work import SharedWork


class Bench:
    """Work that ends when the test says so. `begun` counts how often it began, `at_once` how often at the same time."""

    def __init__(self) -> None:
        self.begun = self.now = self.at_once = 0
        self.gate = asyncio.Event()
        self.wrong: Exception | None = None

    async def work(self) -> int:
        self.begun += 1
        number = self.begun
        self.now += 1
        self.at_once = max(self.at_once, self.now)
        try:
            await self.gate.wait()
        finally:
            self.now -= 1
        if self.wrong:
            raise self.wrong
        return number


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[SharedWork[int]]:
    shared = SharedWork(bench.work)
    task = asyncio.create_task(shared.run())
    try:
        yield shared
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_all_who_ask_meanwhile_share_the_next_work() -> None:
    bench = Bench()
    async with running(bench) as shared, asyncio.timeout(5):
        first = asyncio.create_task(shared.result())
        await turns()
        later = [asyncio.create_task(shared.result()) for _ in range(20)]
        await turns()
        bench.gate.set()
        assert (await first, await asyncio.gather(*later)) == (1, [2] * 20), "none began before its question"
        assert (bench.begun, bench.at_once) == (2, 1)
        assert await shared.result() == 3


async def test_a_failure_is_told_to_all_and_ends_nothing() -> None:
    bench = Bench()
    async with running(bench) as shared, asyncio.timeout(5):
        bench.wrong = ValueError("no database")
        bench.gate.set()
        for found in await asyncio.gather(shared.result(), shared.result(), return_exceptions=True):
            assert isinstance(found, ValueError)
        bench.wrong = None
        assert await shared.result() == 2


async def test_one_who_goes_takes_nothing_from_the_others() -> None:
    bench = Bench()
    async with running(bench) as shared, asyncio.timeout(5):
        impatient, patient = asyncio.create_task(shared.result()), asyncio.create_task(shared.result())
        await turns()
        impatient.cancel()
        await turns()
        bench.gate.set()
        assert await patient == 1


async def test_the_end_ends_the_waits() -> None:
    bench = Bench()
    async with running(bench) as shared:
        waits = [asyncio.create_task(shared.result())]
        await turns()
        waits.append(asyncio.create_task(shared.result()))
        await turns()
    for wait in waits:
        with pytest.raises(asyncio.CancelledError):
            await wait
