"""The looking glass passes on the answers of route servers as they are, also of a release with other fields."""

from typing import Any

from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_routeserver import FakeRouteServer

LATER: dict[str, Any] = {"received_at": "2026-01-01T00:00:00.123456789Z", "of_a_later_release": [{"x": None}]}


async def test_routes_are_passed_on(controller: Controller, route_server: FakeRouteServer) -> None:
    route_server.routes = [LATER, LATER | {"stale": True}]
    found = await controller.get("/routes")
    assert found["items"] == [{"route_server": "rs1", **route} for route in route_server.routes]


async def test_sessions_and_status_are_passed_on(controller: Controller, route_server: FakeRouteServer) -> None:
    await controller.cloudlet("c1", 1)
    route_server.trial = {"confirm_by": "2026-01-01T00:00:00.123456789Z", "of_a_later_release": 1}
    (shown,) = (await controller.get("/route-servers"))["items"]
    assert shown["sessions"] == [{"peer": "c1", "address": "192.0.2.1", "state": "established", "prefixes_in": 1}]
    assert shown["status"] == shown["status"] | route_server.trial
    assert "bmp" not in shown["status"] and "sessions" not in shown["status"]


async def test_what_is_held_back_is_passed_on(controller: Controller, route_server: FakeRouteServer) -> None:
    route_server.held = {"routes": [LATER], "sources": [], "later": []}
    (shown,) = (await controller.get("/routes/held"))["route_servers"]
    assert shown == {"route_server": "rs1", **route_server.held}
