"""Devices and VMs that are changed."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from controller.core.clock import now
from controller.db import devices, pairs
from controller.db.leases import LeaseRow
from tests.unit.controller import vm_region
from tests.unit.controller.conftest import Controller, problem

MACS = [f"02:00:5e:00:00:0{number}" for number in range(10)]
ANA = "/api/v1/devices/ana"


async def patch(controller: Controller, body: dict[str, Any], path: str = ANA, **query: Any) -> httpx.Response:
    headers = {"If-Match": query.pop("tag")} if "tag" in query else {}
    return await controller.http.patch(path, json=body, params=query, headers=headers)


async def done(controller: Controller, body: dict[str, Any], path: str = ANA, **query: Any) -> Any:
    answer = await patch(controller, body, path, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def ana(controller: Controller, **more: Any) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/devices", {"name": "ana", "mac": MACS[1], **more})


async def test_a_device_gets_another_mac_and_keeps_its_pair(controller: Controller) -> None:
    await ana(controller)
    granted = await controller.post("/leases", {"endpoint": "c1-lan", "device": "ana", "kind": "md"})
    rehearsed = await done(controller, {"mac": MACS[2].upper()}, dry_run=True)
    assert rehearsed["mac"] == MACS[2] and (await controller.get("/devices/ana"))["mac"] == MACS[1]
    told = await done(controller, {"mac": MACS[2]})
    assert told["interrupted"] == rehearsed["interrupted"] != []
    assert told["interrupted"][0].startswith(f"{granted['address']} at c1-lan stays with the former identity until 2")
    async with controller.region.database.read() as session:
        assert (await devices.known_as(session, MACS[1], None)) is None
        found = await devices.known_as(session, MACS[2], None)
        assert found is not None and found.device == "ana" and len(await pairs.of_device(session, "ana")) == 1
    kinds = [event["type"] for event in (await controller.get("/events"))["items"]]
    assert kinds.count("device-changed") == 1
    assert (await done(controller, {"mac": MACS[2]}))["interrupted"] == []


async def test_identities_are_merged(controller: Controller) -> None:
    await ana(controller, vm={"mac": MACS[3]})
    told = await done(controller, {"client_id": "01aa", "vm": {"client_id": "01bb"}})
    assert (told["mac"], told["client_id"], told["vm"]) == (MACS[1], "01aa", {"mac": MACS[3], "client_id": "01bb"})
    told = await done(controller, {"mac": None, "vm": {"mac": None}})
    assert (told["mac"], told["client_id"], told["vm"]) == (None, "01aa", {"mac": None, "client_id": "01bb"})
    assert (await done(controller, {"vm": None}))["vm"] is None
    exchanged = await done(controller, {"mac": MACS[4], "vm": {"mac": MACS[5]}})
    assert exchanged["vm"]["mac"] == MACS[5]
    exchanged = await done(controller, {"mac": MACS[5], "vm": {"mac": MACS[4]}})
    assert (exchanged["mac"], exchanged["vm"]["mac"]) == (MACS[5], MACS[4]), "device and VM exchange their MACs"


@pytest.mark.parametrize(
    ("body", "status", "field", "reason"),
    [
        ({"mac": None}, 422, "mac", "ana needs a MAC or a client id"),
        ({"mac": MACS[2]}, 409, "mac", "is bob's"),
        ({"vm": {"mac": MACS[2]}}, 409, "vm.mac", "is bob's"),
        ({"vm": {"mac": MACS[1]}}, 422, "vm", "cannot be known by the same"),
        ({"mac": "nothing"}, 422, "mac", ""),
        ({"name": "bea"}, 422, "name", "cannot be changed: register the device under that name"),
        ({"place": None}, 422, "place", "cannot be changed: agents report"),
    ],
)
async def test_wrong_values(controller: Controller, body: dict[str, Any], status: int, field: str, reason: str) -> None:
    await ana(controller)
    await controller.post("/devices", {"name": "bob", "mac": MACS[2]})
    before = await controller.get("/devices/ana")
    problem(await patch(controller, body), status, field, reason)
    problem(await patch(controller, {"mac": MACS[4]}, tag='"1-1"'), 412)
    problem(await patch(controller, {"mac": MACS[4]}, "/api/v1/devices/eva"), 404, reason="no device 'eva'")
    assert await controller.get("/devices/ana") == before


async def test_a_device_that_came_with_the_new_mac_is_the_same(controller: Controller) -> None:
    await ana(controller)
    await controller.cloudlet("c2", 2)
    async with controller.region.database.write() as session:
        devices.add(session, "dev-new", implicit=True)
        await session.flush()
        devices.add_client(session, "dev-new", "md", MACS[7], None)
        for device, endpoint in (("ana", "c1-lan"), ("dev-new", "c1-lan"), ("dev-new", "c2-lan")):
            pair = await pairs.give(session, endpoint, device, 5 if device == "ana" else 6)
            row = LeaseRow(pair=pair.id, endpoint=endpoint, device=device, kind="md", address=f"10.0.0.{pair.id}")
            row.granted_at, row.expires_at = now(), now() + timedelta(hours=1)
            session.add(row)
    await done(controller, {"mac": MACS[7]})
    async with controller.region.database.read() as session:
        found = {pair.endpoint: pair.number for pair in await pairs.of_device(session, "ana")}
        assert found == {"c1-lan": 5, "c2-lan": 6}, "its own where it has one"
        assert await devices.get(session, "dev-new") is None


async def test_an_implicit_device_is_registered(controller: Controller) -> None:
    async with controller.region.database.write() as session:
        devices.add(session, "ana", implicit=True)
        await session.flush()
        devices.add_client(session, "ana", "md", MACS[1], None)
    assert not (await done(controller, {"client_id": "01aa"}))["implicit"]


async def test_the_identity_of_a_registered_vm_is_its_own(controller: Controller) -> None:
    await vm_region.region(controller)
    await controller.post("/vms", vm_region.WEB)
    path = "/api/v1/devices/m1"
    problem(await patch(controller, {"vm": {"mac": MACS[3]}}, path), 409, "vm", "m1 has the VM web")
    assert (await done(controller, {"vm": None}, path))["vm"]["client_id"] == "00776562", "there is no other to remove"
    assert (await done(controller, {"mac": MACS[4]}, path))["mac"] == MACS[4]


@pytest.mark.parametrize("field", ["name", "device", "endpoint", "driver", "image", "macs", "disk"])
async def test_what_a_vm_cannot_change_has_a_reason(controller: Controller, field: str) -> None:
    await vm_region.region(controller)
    await controller.post("/vms", vm_region.WEB)
    problem(await patch(controller, {field: "x"}, "/api/v1/vms/web"), 422, field, "cannot be changed: ")


async def test_a_vm_is_rehearsed(controller: Controller) -> None:
    await vm_region.region(controller)
    await controller.post("/vms", vm_region.WEB)
    path = "/api/v1/vms/web"
    told = await done(controller, {"vcpus": 4, "options": {"cmdline": "quiet"}}, path, dry_run=True)
    assert (told["vcpus"], told["options"]) == (4, {"cmdline": "quiet"})
    shown = await controller.get("/vms/web")
    assert (shown["vcpus"], shown["options"]) == (1, {})
    assert "vm-changed" not in [event["type"] for event in (await controller.get("/events"))["items"]]
    await done(controller, {"vcpus": 4}, path)
    assert (await controller.get("/vms/web"))["vcpus"] == 4
