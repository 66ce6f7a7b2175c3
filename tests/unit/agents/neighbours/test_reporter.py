"""The reporter against a controller that is away, comes back, or refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agents.controller.client import ControllerAway, ControllerRefused
from agents.neighbours import reporter as module
from agents.neighbours.buffer import Buffer
from agents.neighbours.reporter import Reporter
from agents.neighbours.samples import Round
from controller.wire.neighbours import NeighbourReport
from lab.patience import eventually

ROUND = Round("icmp", 5, 5, 1.0, 2.0, 3.0, 0.1)


class Controller:
    """A controller that accepts reports or raises `refusal`; with `lose_answer` it accepts the next report, and its
    answer gets lost."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.lose_answer = False
        self.asked = 0
        self.answering = asyncio.Event()
        self.answering.set()
        self.reports: list[NeighbourReport] = []

    async def neighbours(self, report: NeighbourReport) -> None:
        self.asked += 1
        await self.answering.wait()
        if self.refusal is not None:
            raise self.refusal
        self.reports.append(report)
        if self.lose_answer:
            self.lose_answer = False
            raise ControllerAway("connection reset")

    def numbers(self) -> list[int]:
        return [m.number for report in self.reports for m in report.measurements]


@asynccontextmanager
async def reporting(controller: Controller, buffer: Buffer | None = None) -> AsyncIterator[Reporter]:
    reporter = Reporter("c1", controller, buffer)
    reporter.pace(0.1)
    task = asyncio.create_task(reporter.run())
    try:
        yield reporter
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Soon:
        def __init__(self, **_: float) -> None: ...

        def reset(self) -> None: ...

        def delay(self) -> float:
            return 0.01

    monkeypatch.setattr(module, "Backoff", Soon)
    monkeypatch.setattr(module, "PAUSE", 0.001)
    monkeypatch.setattr(module, "SOON", 0.1)


async def test_what_waits_is_told_at_the_new_pace() -> None:
    controller = Controller()
    async with reporting(controller) as reporter:
        reporter.pace(3600)
        reporter.tell("c2", ROUND, soon=False)
        await asyncio.sleep(0.01)
        reporter.pace(0.1)
        await eventually(lambda: controller.numbers() == [0])


async def test_a_newcomer_probed_while_a_report_is_under_way_does_not_wait_an_interval() -> None:
    controller = Controller()
    controller.answering.clear()
    async with reporting(controller) as reporter:
        reporter.tell("c2", ROUND, soon=True)
        await eventually(lambda: controller.asked)
        reporter.pace(3600)
        reporter.tell("c3", ROUND, soon=True)
        reporter.tell("c4", ROUND, soon=False)
        controller.answering.set()
        await eventually(lambda: controller.numbers() == [0, 1, 2])


async def test_rounds_of_a_time_share_a_report() -> None:
    controller = Controller()
    async with reporting(controller) as reporter:
        for name in ("c2", "c3", "c4"):
            reporter.tell(name, ROUND, soon=True)
        await eventually(lambda: controller.reports)
    (report,) = controller.reports
    assert [m.neighbour for m in report.measurements] == ["c2", "c3", "c4"] and report.cloudlet == "c1"


async def test_what_was_not_answered_is_sent_again_under_the_same_numbers() -> None:
    controller = Controller()
    async with reporting(controller) as reporter:
        controller.refusal = ControllerAway("connection refused")
        for _ in range(3):
            reporter.tell("c2", ROUND, soon=False)
        await eventually(lambda: controller.asked > 3)
        controller.refusal, controller.lose_answer = None, True
        await eventually(lambda: len(controller.reports) == 2)
    assert controller.numbers() == [0, 1, 2, 0, 1, 2]
    assert len({report.run for report in controller.reports}) == 1


async def test_a_long_absence_costs_the_oldest_and_says_how_many() -> None:
    controller = Controller()
    controller.refusal = ControllerRefused(404, "There is nothing here.")
    async with reporting(controller, Buffer(4)) as reporter:
        for _ in range(10):
            reporter.tell("c2", ROUND, soon=False)
        await eventually(lambda: controller.asked > 2)
        controller.refusal = None
        await eventually(lambda: controller.reports)
    assert controller.numbers() == [6, 7, 8, 9] and controller.reports[0].dropped == 6


async def test_more_than_fits_into_one_report_comes_in_several() -> None:
    controller = Controller()
    buffer = Buffer()
    async with reporting(controller, buffer) as reporter:
        for _ in range(2500):
            reporter.tell("c2", ROUND, soon=False)
        await eventually(lambda: not len(buffer))
    assert [len(report.measurements) for report in controller.reports] == [1000, 1000, 500]
    assert controller.numbers() == list(range(2500))


async def test_a_report_that_is_never_taken_does_not_hold_back_the_next() -> None:
    controller = Controller()
    buffer = Buffer()
    async with reporting(controller, buffer) as reporter:
        controller.refusal = ControllerRefused(422, "measurements.0: nonsense")
        reporter.tell("c2", ROUND, soon=False)
        await eventually(lambda: not len(buffer))
        controller.refusal = None
        reporter.tell("c3", ROUND, soon=False)
        await eventually(lambda: controller.reports)
    assert controller.numbers() == [1] and controller.reports[0].dropped == 1
