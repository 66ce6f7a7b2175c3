"""The agent reports the platform of its machines once, and again when it changes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.found import Driver, Drivers
from agents.hypervisors.hypervisor import Capabilities, HypervisorError, Site
from agents.hypervisors.simulated import driver
from agents.moves import reporter
from agents.moves.execution_context import ExecutionContext
from agents.moves.reporter import Reporter
from controller.wire.moves import MoveReport
from controller.wire.platforms import Platform

HERE = Platform(version="one", board="b", accelerator="a", cpu="c")


class Away:
    """A controller that keeps the reports it receives."""

    def __init__(self) -> None:
        self.heard: list[MoveReport] = []

    async def moves(self, report: MoveReport) -> None:
        self.heard.append(report)

    @property
    def told(self) -> list[dict[str, Platform]]:
        return [report.platforms for report in self.heard if report.platforms]


async def until(check: Any) -> None:
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_it_is_told_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "INTERVAL", 0.02)
    monkeypatch.setattr(reporter, "TICK", 0.01)
    now: list[Platform | HypervisorError] = [HERE]
    hypervisor: Any = driver(Site("c1", tmp_path, tmp_path, "192.0.2.1"))

    async def platform() -> Platform:
        if isinstance(now[-1], HypervisorError):
            raise now[-1]
        return now[-1]

    hypervisor.platform = platform
    drivers, away = Drivers("c1", tmp_path, {}, []), Away()
    drivers.loaded["simulated"] = Driver("simulated", hypervisor, Capabilities("1"))
    told = Reporter("c1", away, ExecutionContext(drivers))
    told.ready()
    work = asyncio.create_task(told.run())
    try:
        await until(lambda: away.told)
        await asyncio.sleep(0.1)
        assert away.told == [{"simulated": HERE}]  # once
        count = len(away.heard)
        await until(lambda: len(away.heard) > count)  # a host without machines tells its load
        assert away.heard[-1].load is not None and away.heard[-1].machines == []
        now.append(HERE.model_copy(update={"version": "two"}))
        await until(lambda: len(away.told) == 2)
        now.append(HypervisorError("nobody knows"))
        await until(lambda: away.heard[-1].platforms == {})
        assert away.heard[-1].load is None
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
