"""The reporter while its controller is away or refuses, and the sightings that the leases cause."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from agents.controller.client import ControllerAway, ControllerRefused
from agents.sightings.reporter import Reporter
from agents.sightings.witness import Witness
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from controller.wire.sightings import Sighting, SightingReport
from lab.patience import eventually

MAC = "02:00:5e:00:00:01"


class Controller:
    """A controller that accepts reports or raises `refusal`."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.asked = 0
        self.sightings_: list[Sighting] = []

    async def sightings(self, report: SightingReport) -> None:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        assert report.cloudlet == "c1"
        self.sightings_ += report.sightings


@asynccontextmanager
async def reporting(controller: Controller) -> AsyncIterator[Reporter]:
    reporter = Reporter("c1", controller)
    task = asyncio.create_task(reporter.run())
    try:
        yield reporter
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_lease_is_told_at_once() -> None:
    controller = Controller()
    async with reporting(controller) as reporter:
        reporter.tell("e1", "10.9.0.4", "packet", MAC)
        await asyncio.sleep(0)
        reporter.tell("e1", "10.1.0.2", "lease", MAC)
        async with asyncio.timeout(0.5):
            await eventually(lambda: controller.sightings_)
        assert [(s.address, s.how) for s in controller.sightings_] == [("10.1.0.2", "lease")]
        await eventually(lambda: len(controller.sightings_) == 2)


async def test_sightings_are_kept_while_the_controller_is_away() -> None:
    controller = Controller()
    controller.refusal = ControllerAway("no route")
    async with reporting(controller) as reporter:
        for number in (2, 4, 6):
            reporter.tell("e1", f"10.1.0.{number}", "lease", MAC)
        await eventually(lambda: controller.asked >= 2)
        controller.refusal = None
        await eventually(lambda: len(controller.sightings_) == 3)
        assert min(s.age for s in controller.sightings_) > 0.05


async def test_what_the_controller_will_never_take_is_given_up() -> None:
    controller = Controller()
    controller.refusal = ControllerRefused(404, "there is no such thing")
    async with reporting(controller) as reporter:
        reporter.tell("e1", "10.1.0.2", "lease", MAC)
        await eventually(lambda: controller.asked == 1)
        controller.refusal = None
        reporter.tell("e1", "10.1.0.4", "lease", MAC)
        await eventually(lambda: controller.sightings_)
        assert [s.address for s in controller.sightings_] == ["10.1.0.4"]


async def test_a_credential_that_is_not_taken_now_may_be_later() -> None:
    controller = Controller()
    controller.refusal = ControllerRefused(401, "who are you?")
    async with reporting(controller) as reporter:
        reporter.tell("e1", "10.1.0.2", "lease", MAC)
        await eventually(lambda: controller.asked == 2)
        controller.refusal = None
        await eventually(lambda: controller.sightings_)


class Plan:
    """A LeaseSource with one address."""

    def __init__(self, kind: Literal["md", "vm"] = "md") -> None:
        self.kind, self.released = kind, False

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        return await self.grant(request)

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        return LeaseGrant(
            address="10.1.0.2", prefix_length=24, gateway="10.1.0.1", kind=self.kind, device="m1", seconds=60
        )

    async def release(self, release: LeaseRelease) -> None:
        self.released = True

    async def decline(self, release: LeaseRelease) -> None:
        raise AssertionError(release)


async def test_only_what_is_leased_to_a_device_is_a_sighting() -> None:
    seen: list[tuple[str, str, str]] = []
    plan = Plan()
    witness = Witness(plan, lambda *words: seen.append(words))
    await witness.offer(LeaseRequest(endpoint="e1", mac=MAC))
    await witness.grant(LeaseRequest(endpoint="e1", mac=MAC, address="10.1.0.8"))
    await witness.release(LeaseRelease(endpoint="e1", mac=MAC, address="10.1.0.2"))
    await Witness(Plan("vm"), lambda *words: seen.append(words)).grant(LeaseRequest(endpoint="e1", mac=MAC))
    assert not seen and plan.released
    await witness.grant(LeaseRequest(endpoint="e1", mac=MAC))
    await witness.grant(LeaseRequest(endpoint="e1", mac=MAC, address="10.1.0.2", renewing=True))
    assert seen == [("e1", "10.1.0.2", MAC)] * 2
