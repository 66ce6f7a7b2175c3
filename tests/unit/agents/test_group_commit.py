"""Group commit: a caller continues only after its data is written, and one caller's failure does not affect another."""

import asyncio

import pytest

from agents.storage.group_commit import GroupCommit


class Disk:
    """A disk that writes one batch at a time, when the test permits it."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        self.batches: list[list[int]] = []
        self.lets, self.full = asyncio.Semaphore(0), False
        self.commit = GroupCommit(self._write)

    async def _write(self) -> None:
        batch, self.pending = self.pending, []
        await self.lets.acquire()
        if self.full:
            raise OSError(28, "no space left")
        self.batches.append(batch)

    async def keep(self, number: int) -> None:
        self.pending.append(number)
        await self.commit.written()
        assert any(number in batch for batch in self.batches)


async def begun(disk: Disk, *numbers: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(disk.keep(number)) for number in numbers]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_all_who_come_during_a_write_share_the_next() -> None:
    disk = Disk()
    tasks = await begun(disk, 1)
    tasks += await begun(disk, 2, 3, 4)
    assert not disk.commit.idle and not any(task.done() for task in tasks)
    disk.lets.release()
    await tasks[0]
    assert not any(task.done() for task in tasks[1:])
    disk.lets.release()
    await asyncio.gather(*tasks)
    assert disk.batches == [[1], [2, 3, 4]]
    await disk.commit.close()
    assert disk.commit.idle


async def test_a_failure_is_told_to_those_whose_write_it_was() -> None:
    disk = Disk()
    first = await begun(disk, 1)
    later = await begun(disk, 2)
    disk.full = True
    disk.lets.release()
    with pytest.raises(OSError, match="no space left"):
        await first[0]
    disk.full = False
    disk.lets.release()
    await later[0]
    assert disk.batches == [[2]]


async def test_whoever_gives_up_waiting_holds_up_nobody() -> None:
    disk = Disk()
    first, second = await begun(disk, 1, 2)
    first.cancel()
    disk.lets.release()
    await second
    await disk.commit.close()
    assert disk.batches == [[1, 2]]
    disk.lets.release()
    await disk.keep(3)
    assert disk.batches == [[1, 2], [3]]
