"""Reservations: a pair waits for its device even if the LAN is full, and no longer than requested."""

from datetime import timedelta

import pytest

from controller.core.clock import now
from controller.leases import leases, reservations
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_leases import lan, mac


async def test_a_reserved_pair_waits_for_its_device(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = await lan(controller, "10.1.0.0/28", prefix6="2001:db8:1::/64")
    await controller.post("/devices", {"name": "m9", "mac": mac(9), "vm": {"mac": mac(10)}})
    kept = await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m9", "seconds": 600})
    assert (kept["md"], kept["vm"]) == ("10.1.0.2", "10.1.0.3")
    assert (kept["md6"], kept["vm6"]) == ("2001:db8:1::2", "2001:db8:1::3")
    again = await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m9", "seconds": 10})
    assert (again["id"], again["held_until"]) == (kept["id"], kept["held_until"])
    others = [(await agent.lease(endpoint="c1-lan", mac=mac(n))).status_code for n in range(6)]
    assert others == [200, 200, 200, 200, 200, 409]
    assert [r["device"] for r in (await controller.get("/reservations"))["items"]] == ["m9"]
    await controller.post("/devices", {"name": "m8", "mac": mac(8)})
    assert (await controller.get("/reservations", endpoint="c1-lan", device="m8"))["items"] == []
    assert (await agent.lease(endpoint="c1-lan", mac=mac(10))).json()["address"] == "10.1.0.3"
    for module in (leases, reservations):
        monkeypatch.setattr(module, "now", lambda: now() + timedelta(hours=2))
    assert (await agent.lease(endpoint="c1-lan", mac=mac(5))).status_code == 200


async def test_giving_a_reservation_up(controller: Controller) -> None:
    agent = await lan(controller, "10.1.0.0/29")
    await controller.post("/devices", {"name": "m9", "mac": mac(9)})
    kept = await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m9"})
    await agent.lease(endpoint="c1-lan", mac=mac(1))
    assert (await agent.lease(endpoint="c1-lan", mac=mac(2))).status_code == 409
    await controller.delete(f"/reservations/{kept['id']}", 204)
    problem(await controller.http.delete(f"/api/v1/reservations/{kept['id']}"), 404)
    assert (await agent.lease(endpoint="c1-lan", mac=mac(2))).status_code == 200


async def test_who_and_where_must_exist(controller: Controller) -> None:
    await lan(controller)
    await controller.refused(422, "/reservations", {"endpoint": "c1-lan", "device": "m1"}, "device", "no device 'm1'")
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.refused(422, "/reservations", {"endpoint": "c9-lan", "device": "m1"}, "endpoint", "no endpoint")
