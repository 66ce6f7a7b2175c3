"""The doctor's work: shared by all who ask, and a verdict of bounded length."""

import asyncio
from collections import Counter

import pytest

from controller.diagnosis import route_servers
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_routeserver import FakeRouteServer


def leaks(many: int) -> list[dict[str, object]]:
    """Return lines of routes that no pool allows."""
    line: dict[str, object] = {"family": "l2vpn-vpls", "peer": "c1", "rts": ["65000:1"]}
    return [line | {"nlri": str(number), "key": f"{number:x}"} for number in range(many)]


async def test_a_hundred_who_ask_at_once_are_two_readings(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = controller.region.route_servers.syncs[0].client
    asked: Counter[str] = Counter()
    read = client.routes

    async def counted(query: dict[str, str]) -> dict[str, object]:
        asked[query["table"]] += 1
        return await read(query)

    monkeypatch.setattr(client, "routes", counted)
    verdicts = await asyncio.gather(*(controller.get("/doctor") for _ in range(100)))
    assert all(verdict["checked"]["route_servers"] == 1 for verdict in verdicts)
    assert asked and max(asked.values()) <= 2, asked


async def test_a_verdict_shows_the_state_after_the_askers_own_change(controller: Controller) -> None:
    async def others() -> None:
        for _ in range(10):
            await controller.get("/doctor")

    looking = asyncio.gather(others(), others())
    for number in range(5):
        await controller.post("/vcps", {"name": f"pool{number}"})
        generation = controller.region.intent.generation
        assert (await controller.get("/doctor"))["checked"]["generation"] >= generation
    await looking


async def test_a_table_that_is_too_large_is_named_and_the_server_not_called_silent(
    controller: Controller, route_server: FakeRouteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_servers, "MOST", 2000)
    await controller.agent("c1", 1)
    route_server.routes = leaks(2500)
    found = await controller.get("/doctor")
    told = " ".join(found["uncompared"])
    assert "rs1 has more than 2,000 routes in adj-in" in told and "rs1 has more than 2,000 routes in adj-out" in told
    assert not found["counts"].keys() & {"leak", "not-sent", "not-announced", "route-server-silent"}
    assert found["counts"]["quarantine"] == 2000 and found["checked"]["adj_out"] == 2000
    route_server.routes = leaks(2000)
    found = await controller.get("/doctor")
    assert not found["uncompared"] and found["counts"]["leak"] == 2000


async def test_one_fault_that_shows_many_times_buries_no_other(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    await controller.agent("c1", 1)
    before = await controller.get("/doctor")
    route_server.routes = leaks(2500)
    found = await controller.get("/doctor")
    shown = Counter(one["kind"] for one in found["differences"])
    assert found["counts"]["leak"] == 2500 and shown["leak"] == 1000
    assert before["counts"].keys() < found["counts"].keys() == shown.keys() and not found["ok"]
    assert all(shown[kind] == min(1000, count) for kind, count in found["counts"].items())
