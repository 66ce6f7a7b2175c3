"""Services start in order, are closed in reverse, and their end is always noticed."""

import asyncio

import pytest

from controller.runtime.service import Service, forever
from controller.runtime.supervisor import Ended, Supervisor


class Recorder(Service):
    """A service that records its calls in `log`. It fails in the call `fails_in`; with "end" its `run` returns."""

    def __init__(self, name: str, log: list[str], fails_in: str = "") -> None:
        self.name = name  # type: ignore[misc]
        self._log, self._fails_in = log, fails_in

    def _note(self, what: str) -> None:
        self._log.append(f"{self.name} {what}")
        if what == self._fails_in:
            raise OSError(f"{what} of {self.name}")

    async def start(self) -> None:
        self._note("start")

    async def run(self) -> None:
        self._note("run")
        if self._fails_in != "end":
            await forever()

    async def close(self) -> None:
        self._note("close")


async def _nothing() -> None:
    pass


async def test_services_start_in_order_and_are_closed_in_reverse() -> None:
    log: list[str] = []
    async with Supervisor([Recorder("a", log), Recorder("b", log)], pytest.fail):
        await asyncio.sleep(0)
        assert log == ["a start", "a run", "b start", "b run"]
    assert log[4:] == ["b close", "a close"]


async def test_one_that_does_not_start_leaves_none_behind() -> None:
    log: list[str] = []
    with pytest.raises(OSError, match="start of b"):
        async with Supervisor([Recorder("a", log), Recorder("b", log, "start"), Recorder("c", log)], pytest.fail):
            raise AssertionError("it has started")
    assert log[-2:] == ["b close", "a close"] and "c start" not in log


async def test_one_that_cannot_be_closed_holds_up_no_other() -> None:
    log: list[str] = []
    async with Supervisor([Recorder("a", log), Recorder("b", log, "close")], pytest.fail):
        pass
    assert log[-2:] == ["b close", "a close"]


@pytest.mark.parametrize(("how", "reason"), [("run", "b failed: OSError('run of b')"), ("end", "b ended")])
async def test_one_that_ends_by_itself_is_told_of(how: str, reason: str) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with Supervisor([Recorder("a", []), Recorder("b", [], how)], told.put_nowait):
        assert await told.get() == reason
    assert told.empty(), "those that were ended are not told of"


async def test_a_loop_that_returns_is_named() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    class Returning(Recorder):
        async def run(self) -> None:
            await forever(asyncio.Event().wait, _nothing)  # type: ignore[arg-type]

    async with Supervisor([Returning("a", [])], told.put_nowait):
        assert await told.get() == "a ended: _nothing returned"


async def test_a_start_does_not_wait_for_one_that_has_ended() -> None:
    log: list[str] = []

    class Waiting(Recorder):
        async def start(self) -> None:
            await asyncio.Event().wait()

    with pytest.raises(Ended, match=r"a failed: OSError\('run of a'\)"):
        async with Supervisor([Recorder("a", log, "run"), Waiting("b", log)], log.append):
            raise AssertionError("it has started")
    assert log[-3:] == ["a failed: OSError('run of a')", "b close", "a close"]
