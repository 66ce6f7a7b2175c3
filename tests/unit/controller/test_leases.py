"""Leases: pairs, renewal, expiry, return to the old pair, and a full plan."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from controller.core.addresses import AddressPlan
from controller.core.clock import now
from controller.leases import leases as work
from tests.unit.controller.conftest import Controller, Start, problem


def mac(number: int) -> str:
    return f"02:00:5e:00:{number >> 8:02x}:{number & 255:02x}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that moves the time of leases forward."""

    class Clock:
        ahead = timedelta()

        def forward(self, **by: float) -> None:
            self.ahead += timedelta(**by)

    clock = Clock()
    for module in (work, __import__("controller.api.leases", fromlist=["now"])):
        monkeypatch.setattr(module, "now", lambda: now() + clock.ahead)
    return clock


async def lan(controller: Controller, prefix: str = "10.1.0.0/24", **more: Any) -> Any:
    return await controller.agent("c1", 1, prefix=prefix, **more)


async def test_a_device_gets_the_even_address_and_its_vm_the_one_above(controller: Controller) -> None:
    agent = await lan(controller)
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await controller.post("/devices", {"name": "m2", "client_id": "01aa", "vm": {"client_id": "01bb"}})
    vm = (await agent.lease(endpoint="c1-lan", mac=mac(2))).json()
    md = (await agent.lease(endpoint="c1-lan", mac=mac(1))).json()
    assert (vm["address"], vm["kind"], vm["device"]) == ("10.1.0.3", "vm", "m1")
    assert (md["address"], md["kind"], md["device"]) == ("10.1.0.2", "md", "m1")
    assert (md["gateway"], md["prefix_length"], md["seconds"]) == ("10.1.0.1", 24, 3600)
    by_id = (await agent.lease(endpoint="c1-lan", mac=mac(77), client_id="01BB")).json()
    assert (by_id["address"], by_id["device"]) == ("10.1.0.5", "m2")
    stranger = (await agent.lease(endpoint="c1-lan", mac=mac(9), client_id="01cc", hostname="phone\x00")).json()
    assert (stranger["address"], stranger["kind"]) == ("10.1.0.6", "md")
    device = await controller.get(f"/devices/{stranger['device']}")
    assert device["implicit"] and device["client_id"] == "01cc"
    held = {entry["address"]: entry for entry in (await controller.get("/leases"))["items"]}
    assert set(held) == {"10.1.0.2", "10.1.0.3", "10.1.0.5", "10.1.0.6"}
    assert held["10.1.0.6"]["hostname"] == "phone"


async def test_both_families_of_a_pair_have_one_number(controller: Controller) -> None:
    """The IPv6 plan holds two pairs here, the IPv4 one 126."""
    agent = await lan(controller, prefix6="2001:db8:1::/125")
    endpoint = await controller.get("/endpoints/c1-lan")
    assert (endpoint["prefix6"], endpoint["gateway6"]) == ("2001:db8:1::/125", "2001:db8:1::1")
    assert endpoint["capacity"] == 2
    document = await agent.document(1)
    assert (document.endpoints[0].prefix6, document.endpoints[0].gateway6) == ("2001:db8:1::/125", "2001:db8:1::1")
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    for number in (1, 2, 3):
        assert (await agent.lease(endpoint="c1-lan", mac=mac(number))).status_code == 200
    leases = (await controller.get("/leases"))["items"]
    assert [(held["address"], held["address6"]) for held in leases] == [
        ("10.1.0.2", "2001:db8:1::2"),
        ("10.1.0.3", "2001:db8:1::3"),
        ("10.1.0.4", "2001:db8:1::4"),
    ]
    assert (await controller.get(f"/leases/{leases[0]['id']}"))["address6"] == "2001:db8:1::2"
    problem(await agent.lease(endpoint="c1-lan", mac=mac(4)), 409, "endpoint", "all 2 pairs of 10.1.0.0/24")


async def test_asking_again_renews_and_is_the_same_lease(controller: Controller, clock: Any) -> None:
    agent = await lan(controller)
    first = (await agent.lease(endpoint="c1-lan", mac=mac(1))).json()
    clock.forward(seconds=1800)
    assert (await agent.lease(endpoint="c1-lan", mac=mac(1))).json() == first
    clock.forward(seconds=1801)
    (held,) = (await controller.get("/leases"))["items"]
    assert held["address"] == first["address"]
    clock.forward(seconds=1800)
    assert (await controller.get("/leases"))["items"] == []


async def test_an_expired_lease_is_swept_and_the_device_returns_to_its_pair(controller: Controller, clock: Any) -> None:
    agent = await lan(controller)
    for number in (1, 2, 3):
        await agent.lease(endpoint="c1-lan", mac=mac(number))
    clock.forward(hours=2)
    assert await controller.region.leases.leases.sweep() == 3
    other = (await agent.lease(endpoint="c1-lan", mac=mac(4))).json()
    back = (await agent.lease(endpoint="c1-lan", mac=mac(2))).json()
    assert (other["address"], back["address"]) == ("10.1.0.8", "10.1.0.4")


async def test_a_full_plan_refuses_and_takes_the_longest_idle_pair_when_there_is_one(
    controller: Controller, clock: Any
) -> None:
    agent = await lan(controller, "10.1.0.0/29")
    first, second = [(await agent.lease(endpoint="c1-lan", mac=mac(n))).json() for n in (1, 2)]
    problem(await agent.lease(endpoint="c1-lan", mac=mac(3)), 409, "endpoint", "all 2 pairs of 10.1.0.0/29")
    devices = [d["name"] for d in (await controller.get("/devices"))["items"]]
    assert sorted(devices) == sorted([first["device"], second["device"]]), "the refused one is not remembered"
    release = {"endpoint": "c1-lan", "address": first["address"], "mac": mac(1)}
    answer = await agent.http.post("/api/v1/agent/leases/release", json=release, headers=agent.headers)
    assert answer.status_code == 204
    third = (await agent.lease(endpoint="c1-lan", mac=mac(3))).json()
    assert third["address"] == first["address"]
    problem(await agent.lease(endpoint="c1-lan", mac=mac(1)), 409, "endpoint", "in use")
    problem(await controller.http.get(f"/api/v1/devices/{first['device']}"), 404)


async def test_only_the_holder_gives_an_address_back(controller: Controller) -> None:
    agent = await lan(controller)
    held = (await agent.lease(endpoint="c1-lan", mac=mac(1))).json()
    await agent.lease(endpoint="c1-lan", mac=mac(2))
    release = {"endpoint": "c1-lan", "address": held["address"], "mac": mac(2)}
    answer = await agent.http.post("/api/v1/agent/leases/release", json=release, headers=agent.headers)
    assert answer.status_code == 204
    assert len((await controller.get("/leases"))["items"]) == 2


async def test_concurrent_grants_never_give_an_address_twice(controller: Controller) -> None:
    agent = await lan(controller, "10.1.0.0/27")
    capacity = AddressPlan.of("10.1.0.0/27").capacity
    answers = await asyncio.gather(*(agent.lease(endpoint="c1-lan", mac=mac(n % 20)) for n in range(60)))
    statuses = Counter(a.status_code for a in answers)
    assert set(statuses) <= {200, 409}
    granted = {(a.json()["device"], a.json()["address"]) for a in answers if a.status_code == 200}
    assert len(granted) == capacity == len({address for _, address in granted})


async def test_operators_grant_renew_and_release(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    body = {"endpoint": "c1-lan", "device": "m1", "kind": "vm"}
    made = await controller.post("/leases", body)
    assert made["address"] == "10.1.0.3"
    again = await controller.post("/leases", body, 200)
    assert again["id"] == made["id"] and again["expires_at"] > made["expires_at"]
    renewed = await controller.post(f"/leases/{made['id']}/renew", status=200)
    assert renewed["expires_at"] > again["expires_at"]
    problem(await controller.http.delete("/api/v1/devices/m1"), 409, reason="holds 10.1.0.3")
    await controller.delete(f"/leases/{made['id']}", 204)
    problem(await controller.http.delete(f"/api/v1/leases/{made['id']}"), 404)
    await controller.delete("/devices/m1", 204)
    await controller.refused(422, "/leases", body, "device", "no device 'm1'")
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.refused(422, "/leases", body | {"endpoint": "none"}, "endpoint", "no endpoint 'none'")


async def test_devices_are_known_once(controller: Controller) -> None:
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await controller.refused(409, "/devices", {"name": "m1", "mac": mac(5)}, "name", "already")
    await controller.refused(409, "/devices", {"name": "m2", "mac": mac(2)}, "mac", "is m1's")
    await controller.refused(409, "/devices", {"name": "m2", "mac": mac(3), "vm": {"mac": mac(1)}}, "vm.mac", "m1's")
    await controller.refused(422, "/devices", {"name": "m2"}, None, "give mac, client_id, or both")
    await controller.refused(409, "/devices", {"name": "m2", "mac": "02-00-5E-00-00-01"}, "mac", "is m1's")
    await controller.refused(422, "/devices", {"name": "m2", "mac": mac(3), "vm": {"mac": mac(3)}}, None, "same")
    assert [d["name"] for d in (await controller.get("/devices"))["items"]] == ["m1"]


async def test_a_stranger_that_is_registered_keeps_its_pair(controller: Controller) -> None:
    agent = await lan(controller)
    await agent.lease(endpoint="c1-lan", mac=mac(8))
    before = (await agent.lease(endpoint="c1-lan", mac=mac(1))).json()
    await agent.lease(endpoint="c1-lan", mac=mac(2))
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    after = (await agent.lease(endpoint="c1-lan", mac=mac(1))).json()
    vm = (await agent.lease(endpoint="c1-lan", mac=mac(2))).json()
    assert (after["address"], after["device"]) == (before["address"], "m1")
    assert (vm["address"], vm["kind"]) == ("10.1.0.5", "vm")


async def test_leases_survive_a_restart(start: Start) -> None:
    async with start() as controller:
        agent = await lan(controller)
        before = (await agent.lease(endpoint="c1-lan", mac=mac(1))).json()
        agent.http = controller.http
    async with start() as controller:
        agent.http = controller.http
        assert (await agent.lease(endpoint="c1-lan", mac=mac(1))).json() == before


async def test_removing_an_endpoint_ends_its_leases(controller: Controller) -> None:
    agent = await lan(controller)
    await agent.lease(endpoint="c1-lan", mac=mac(1))
    removed = await controller.delete("/endpoints/c1-lan")
    assert removed["in_force"]
    assert (await controller.get("/leases"))["items"] == []
