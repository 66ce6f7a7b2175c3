"""Agents' reports about neighbours, and a clock for them."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from controller.agents import neighbour_history as rolling
from controller.agents import neighbours as work
from controller.core.clock import now
from controller.db import neighbours
from controller.db.neighbour_history import NeighbourHistoryRow
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_agent import FakeAgent


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE", 0.01)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that moves time forward for all code about neighbours."""

    class Clock:
        ahead = timedelta()

        def forward(self, **by: float) -> None:
            self.ahead += timedelta(**by)

        def now(self) -> datetime:
            return now() + self.ahead

    clock = Clock()
    for module in (work, rolling, neighbours, __import__("controller.api.neighbours", fromlist=["now"])):
        monkeypatch.setattr(module, "now", clock.now)
    return clock


def measured(number: int, neighbour: str, median: float | None = 10.0, **more: Any) -> dict[str, Any]:
    times = {} if median is None else {"min_ms": median / 2, "median_ms": median, "p95_ms": median * 2, "jitter_ms": 1}
    basics = {"age": max(0.0, 30.0 - number), "method": "icmp", "sent": 5, "received": 0 if median is None else 5}
    return {"number": number, "neighbour": neighbour, **basics, **times, **more}


async def send(
    agent: FakeAgent, cloudlet: str, *rounds: dict[str, Any], run: str = "r1", **more: Any
) -> httpx.Response:
    body = {"cloudlet": cloudlet, "run": run, "measurements": list(rounds), **more}
    return await agent.http.post("/api/v1/agent/neighbours", json=body, headers=agent.headers)


async def told(agent: FakeAgent, cloudlet: str, *rounds: dict[str, Any], **more: Any) -> None:
    answer = await send(agent, cloudlet, *rounds, **more)
    assert answer.status_code == 204, answer.text


async def two(controller: Controller) -> tuple[FakeAgent, FakeAgent]:
    agents = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    for name in ("c1-lan", "c2-lan"):
        await controller.post("/vcps/blue/members", {"endpoint": name})
    return agents


async def rows(controller: Controller, span: int) -> list[NeighbourHistoryRow]:
    async with controller.region.database.read() as session:
        query = select(NeighbourHistoryRow).where(NeighbourHistoryRow.span == span).order_by(NeighbourHistoryRow.at)
        return list(await session.scalars(query))
