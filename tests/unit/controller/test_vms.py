"""VMs: a device has one at most, DHCP knows it on either vNIC, and the controller stores its agent's reports."""

from datetime import timedelta
from re import fullmatch
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.clock import now
from controller.core.machines import mac
from controller.core.macs import mac_of
from controller.db import vms as table
from controller.db.moves import MoveRow
from controller.migration import machine_reports
from controller.wire.machines import MachineState
from controller.wire.names import MAC_PATTERN
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.vm_region import ONE, TWO, WEB, begin_move, region, say


async def test_a_vm_is_added_shown_and_removed(controller: Controller) -> None:
    await region(controller)
    disk = {"base": "debian", "bytes": 1 << 30}
    made = await controller.post("/vms", WEB | {"vcpus": 2, "disk": disk, "options": {"cpu": "max"}})
    assert (made["cloudlet"], made["condition"], made["serving"], made["address"]) == ("c1", "gone", "a", None)
    assert (made["disk"], made["options"], made["vcpus"], made["move"]) == (disk, {"cpu": "max"}, 2, None)
    assert made["client_id"] == "00" + b"web".hex() and made["macs"] == [mac("web", "a"), mac("web", "b")]
    assert await controller.get("/vms/web") == made
    assert (await controller.get("/devices/m1"))["vm"] == {"mac": None, "client_id": "00776562"}
    await controller.delete("/vms/web", 204)
    problem(await controller.http.get("/api/v1/vms/web"), 404, None, "no VM 'web'")
    problem(await controller.http.delete("/api/v1/vms/web"), 404, None, "no VM 'web'")
    assert (await controller.get("/devices/m1"))["vm"] is None
    types = [event["type"] for event in (await controller.get("/events"))["items"]]
    assert types[-2:] == ["vm-added", "vm-removed"]


async def test_added_once_by_its_key(controller: Controller) -> None:
    await region(controller)
    answers = [await controller.http.post("/api/v1/vms", json=WEB, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json() and answers[1].headers["Idempotency-Replayed"] == "true"


async def test_either_vnic_gets_the_address_above_the_devices(controller: Controller) -> None:
    await region(controller, "m1")
    agent = await controller.agent("c3", 3)
    await controller.post("/vms", WEB | {"endpoint": "c3-lan"})
    known = (await agent.lease(endpoint="c3-lan", mac="02:00:5e:00:01:00")).json()["address"]
    for nic in ("a", "b"):
        answer = await agent.lease(endpoint="c3-lan", mac=mac("web", nic), client_id="00776562")
        assert (known, answer.json()["address"]) == ("10.3.0.2", "10.3.0.3")
    await say(controller, "c3", MachineState(name="web", condition="running", serving="b"))
    shown = await controller.get("/vms/web")
    assert (shown["address"], shown["serving"], shown["condition"]) == ("10.3.0.3", "b", "running")


async def test_what_the_other_vnic_leases_is_not_what_a_vm_is_known_by(controller: Controller) -> None:
    """This is the state after a move that could not remove the old address."""
    await region(controller)
    agent = await controller.agent("c3", 3)
    await controller.post("/vms", WEB | {"endpoint": "c3-lan"})
    async with controller.region.database.write() as session:
        row = await table.get(session, "web", lock=True)
        assert row is not None
        row.serving, row.address = "b", "10.9.0.3"
    new = (await agent.lease(endpoint="c3-lan", mac=mac("web", "a"), client_id="00776562")).json()["address"]
    running = MachineState(name="web", condition="running", serving="b")
    await say(controller, "c3", running)
    shown = await controller.get("/vms/web")
    assert (shown["address"], shown["serving"], shown["condition"]) == ("10.9.0.3", "b", "running")
    # The lost report arrives after all: the vNICs have changed roles.
    await say(controller, "c3", running.model_copy(update={"serving": "a"}))
    shown = await controller.get("/vms/web")
    assert (shown["address"], shown["serving"]) == (new, "a") != ("10.9.0.3", "b")


CLASHES: list[tuple[dict[str, Any], int, str, str]] = [
    ({}, 409, "name", "there is a VM 'web' already"),
    ({"name": "other"}, 409, "device", "m1 has a VM already, web"),
    ({"name": "other", "device": "m2", "macs": [ONE, mac("web", "b")]}, 409, "macs", "is the VM web's"),
    ({"name": "other", "device": "m2", "macs": [ONE, "02:00:5e:00:01:00"]}, 409, "macs", "is m1's"),
    ({"name": "other", "device": "m2", "macs": [ONE, ONE]}, 422, "macs", f"both vNICs have {ONE}"),
    ({"name": "other", "device": "m2", "macs": [ONE, "01:00:5e:00:00:01"]}, 422, "macs.1", "a group's address"),
    ({"name": "other", "device": "m9"}, 422, "device", "no registered device 'm9'"),
    ({"name": "other", "device": "m2", "endpoint": "c9-lan"}, 422, "endpoint", "no endpoint 'c9-lan'"),
    ({"name": "other", "device": "m2", "memory": 1}, 422, "memory", "16M"),
    ({"name": "other", "device": "m3"}, 409, "device", "m3's VM is known as 02:00:5e:00:00:02"),
    ({"name": "other", "device": "m4"}, 409, "client_id", "is m3's"),
]


async def test_what_clashes_is_named(controller: Controller, subtests: pytest.Subtests) -> None:
    await region(controller, "m1", "m2", "m4")
    await controller.post("/devices", {"name": "m3", "client_id": "00" + b"other".hex(), "vm": {"mac": TWO}})
    await controller.post("/vms", WEB)
    for change, status, field, reason in CLASHES:
        with subtests.test(reason):
            await controller.refused(status, "/vms", WEB | change, field, reason)


async def test_who_came_and_asked_makes_room(controller: Controller) -> None:
    await region(controller)
    agent = await controller.agent("c3", 3)
    await agent.lease(endpoint="c3-lan", mac=ONE)
    await agent.lease(endpoint="c3-lan", mac=TWO, client_id="00776562")
    problem(await controller.http.post("/api/v1/vms", json=WEB | {"device": "dev-02005e000001"}), 422, "device")
    await controller.post("/vms", WEB | {"macs": [ONE, TWO]})
    assert [device["name"] for device in (await controller.get("/devices"))["items"]] == ["dev-02005e000001", "m1"]


async def test_a_vm_registered_with_its_device_keeps_its_mac(controller: Controller) -> None:
    await region(controller)
    await controller.post("/devices", {"name": "m7", "mac": ONE, "vm": {"mac": TWO}})
    await controller.post("/vms", WEB | {"device": "m7", "macs": [TWO, "02:00:5e:00:00:03"]})
    assert (await controller.get("/devices/m7"))["vm"] == {"mac": TWO, "client_id": "00776562"}
    await controller.delete("/vms/web", 204)
    assert (await controller.get("/devices/m7"))["vm"] == {"mac": TWO, "client_id": None}


async def test_a_list_in_pages_and_parts(controller: Controller) -> None:
    await region(controller, "m1", "m2", "m3")
    for number, lan in ((1, "c1-lan"), (2, "c2-lan"), (3, "c1-lan")):
        await controller.post("/vms", WEB | {"name": f"vm{number}", "device": f"m{number}", "endpoint": lan})
    await say(controller, "c1", MachineState(name="vm1", condition="running"))

    async def names(**query: str) -> list[str]:
        return [vm["name"] for vm in (await controller.get("/vms", **query))["items"]]

    assert await names() == ["vm1", "vm2", "vm3"]
    assert await names(cloudlet="c1") == await names(endpoint="c1-lan") == ["vm1", "vm3"]
    assert await names(device="m2") == ["vm2"] and await names(condition="running") == ["vm1"]
    first = await controller.get("/vms", limit=2)
    assert [vm["name"] for vm in first["items"]] == ["vm1", "vm2"]
    assert await names(cursor=first["next"]) == ["vm3"]


async def test_changes_are_guarded(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB | {"options": {"cpu": "max", "rng": "on"}})
    tag = (await controller.http.get("/api/v1/vms/web")).headers["ETag"]

    async def patch(body: dict[str, Any], tag: str | None = None) -> Any:
        headers = {"If-Match": tag} if tag else {}
        return await controller.http.patch("/api/v1/vms/web", json=body, headers=headers)

    changed = await patch({"memory": 1 << 30, "options": {"rng": None, "display": "none"}}, tag)
    assert changed.json()["options"] == {"cpu": "max", "display": "none"} and changed.json()["memory"] == 1 << 30
    assert changed.json()["vcpus"] == 1 and changed.headers["ETag"] != tag
    problem(await patch({"vcpus": 2}, tag), 412)
    problem(await patch({"options": {f"o{n}": "1" for n in range(31)}}), 422, "options", "would have 33 options")
    await say(controller, "c1", MachineState(name="web", condition="running"))
    problem(await patch({"vcpus": 2}), 409, None, "web is running at c1-lan: stop it before")


async def test_one_that_runs_or_moves_stays(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    await say(controller, "c1", MachineState(name="web", condition="running"))
    problem(await controller.http.delete("/api/v1/vms/web"), 409, None, "running at c1-lan")
    await begin_move(controller, "web")
    assert (await controller.get("/vms/web"))["move"] == "mv1"
    moving = await controller.http.delete("/api/v1/vms/web", params={"force": "true"})
    problem(moving, 409, None, "web is being moved (mv1)")
    problem(await controller.http.post("/api/v1/vms/web/start"), 409, None, "being moved (mv1)")
    async with controller.region.database.write() as session:
        row = await session.get(MoveRow, "mv1")
        assert row is not None
        row.live = None
    answer = await controller.http.delete("/api/v1/vms/web", params={"force": "true"})
    assert answer.status_code == 204


async def test_what_a_vm_needs_stays_too(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    problem(await controller.http.delete("/api/v1/devices/m1"), 409, None, "m1 has the VM web at c1-lan")
    problem(await controller.http.delete("/api/v1/endpoints/c1-lan"), 409, None, "the VM web at c1-lan")
    for more in ({}, {"dry_run": "true"}):
        answer = await controller.http.delete("/api/v1/cloudlets/c1", params=more)
        problem(answer, 409, None, "there is the VM web at c1-lan: move or remove it first")
    await controller.delete("/cloudlets/c2", 200)
    await controller.delete("/vms/web", 204)
    await controller.delete("/devices/m1", 204)
    await controller.delete("/endpoints/c1-lan", 200)
    await controller.delete("/cloudlets/c1", 200)


async def test_news_are_written_when_they_are_news(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    running = MachineState(name="web", condition="running", memory_used=5)
    await say(controller, "c1", running)
    first = await controller.get("/vms/web")
    await say(controller, "c1", running)
    assert await controller.get("/vms/web") == first
    monkeypatch.setattr(machine_reports, "now", lambda: now() + timedelta(seconds=11))
    await say(controller, "c1", running.model_copy(update={"memory_used": 6}))
    later = await controller.get("/vms/web")
    assert later["seen_at"] > first["seen_at"] and later["memory_used"] == 6
    types = [event["type"] for event in (await controller.get("/events"))["items"]]
    assert types.count("vm-running") == 1


async def test_a_move_says_itself_which_vnic_serves(controller: Controller) -> None:
    await region(controller)
    await controller.post("/vms", WEB)
    await begin_move(controller, "web")
    await say(controller, "c1", MachineState(name="web", condition="running", serving="b"))
    async with controller.region.database.read() as session:
        row = await table.get(session, "web")
    assert row is not None and (row.condition, row.serving) == ("running", "a")


@given(st.from_regex(r"[a-z0-9]{1,20}", fullmatch=True))
def test_macs_are_a_machines(name: str) -> None:
    both = [mac(name, "a"), mac(name, "b")]
    assert len(set(both)) == 2
    for one in both:
        assert fullmatch(MAC_PATTERN, one) and mac_of(one) == one and one.startswith("02:")
