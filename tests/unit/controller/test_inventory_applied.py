"""An inventory at the controller: planned and applied, all of it or nothing."""

import re
from datetime import timedelta
from typing import Any

import pytest

from controller.core.clock import now
from controller.db import pairs, vms
from controller.db.leases import LeaseRow
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.inventories import ALL, BOTH, HEAD, ask, done, said


async def lease(controller: Controller, device: str, kind: Any, endpoint: str) -> None:
    """Write a lease as if the device's MD or VM had asked for an address there."""
    async with controller.region.database.write() as session:
        pair = await pairs.of(session, endpoint, device) or await pairs.give(session, endpoint, device, 0)
        number = controller.region.intent.endpoints[endpoint].prefix.split(".")[1]
        address = f"10.{number}.0.{2 if kind == 'md' else 3}"
        row = LeaseRow(pair=pair.id, endpoint=endpoint, device=device, kind=kind, address=address)
        row.granted_at, row.expires_at = now(), now() + timedelta(hours=1)
        session.add(row)


async def events(controller: Controller) -> list[str]:
    kinds = [event["type"] for event in (await controller.get("/events", limit=1000))["items"]]
    return [kind for kind in kinds if not kind.startswith("route-server")]


async def test_a_plan_changes_nothing_and_its_application_does_just_that(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    before = controller.region.intent
    planned = await done(controller, "plan", ALL)
    assert said(planned) == [
        "create cloudlets c1", "create cloudlets c2", "create endpoints c1-lan", "create endpoints c2-lan",
        "create devices m1", "create vms web",
    ]  # fmt: skip
    assert planned["plan"]["steps"][2]["fields"] == [
        {"field": "cloudlet", "before": None, "after": "c1"},
        {"field": "prefix", "before": None, "after": "10.1.0.0/24"},
    ]
    assert planned["change"]["dry_run"] and (planned["revision"], planned["etag"]) == (None, '"0-0"')
    assert controller.region.intent is before and (await controller.get("/devices"))["items"] == []
    assert (await controller.get("/inventory"))["text"] == "" and await events(controller) == []
    applied = await done(controller, "apply", ALL, tag=planned["etag"], planned=planned["planned"])
    assert applied["plan"] == planned["plan"] and applied["revision"] == 1
    assert sorted(controller.region.intent.endpoints) == ["c1-lan", "c2-lan"]
    assert (await controller.get("/devices/m1"))["mac"] == "02:00:5e:00:00:01"
    web = await controller.get("/vms/web")
    assert (web["device"], web["endpoint"], web["driver"], web["memory"]) == ("m1", "c1-lan", "qemu", 512 << 20)
    assert web["condition"] == "gone", "an inventory starts no VM"
    await eventually(lambda: route_server.rules.generation == controller.region.intent.generation)
    again = await done(controller, "plan", ALL)
    assert said(again) == [] and again["etag"] == applied["etag"]
    assert (await done(controller, "apply", ALL))["revision"] == 1, "the same again is no revision"
    told = await events(controller)
    assert {"cloudlet-invited", "endpoint-created", "device-registered", "vm-added", "inventory-applied"} <= set(told)


async def test_new_cloudlets_get_a_token_that_is_told_once(controller: Controller) -> None:
    text = BOTH.replace("endpoints:", "  r1: {pe: evpn, vtep: 192.0.2.9, unmanaged: true, asn: 64900}\nendpoints:")
    rehearsed = await done(controller, "apply", text, dry_run=True)
    assert rehearsed["tokens"] == {} and rehearsed["revision"] is None
    answer = await controller.http.post(
        "/api/v1/inventory/apply",
        content=text,
        headers={"content-type": "application/yaml", "Idempotency-Key": "once"},
        params={"token_seconds": 60},
    )
    applied = answer.json()
    assert sorted(applied["tokens"]) == ["c1", "c2"], "an unmanaged PE has no agent"
    assert applied["tokens_expire_at"] is not None
    again = await controller.http.post(
        "/api/v1/inventory/apply",
        content=text,
        headers={"content-type": "application/yaml", "Idempotency-Key": "once"},
        params={"token_seconds": 60},
    )
    assert again.headers["Idempotency-Replayed"] == "true" and again.json()["tokens"] is None
    for kept in (await controller.get("/inventory"), await controller.get("/inventory/revisions/1")):
        assert not any(token in str(kept) for token in applied["tokens"].values())
    await controller.enrol("c1", applied["tokens"]["c1"])
    assert (await controller.get("/cloudlets/c1"))["state"] == "active"
    assert (await controller.get("/cloudlets/r1"))["asn"] == 64900
    assert (await done(controller, "apply", text + "# more\n"))["tokens"] == {}, "nothing new, no token"


async def test_approval_is_declared(controller: Controller) -> None:
    text = BOTH.replace("vtep: 192.0.2.1}", "vtep: 192.0.2.1, approval: true}")
    applied = await done(controller, "apply", text)
    await controller.enrol("c1", applied["tokens"]["c1"])
    assert (await controller.get("/cloudlets/c1"))["state"] == "pending"
    changed = await done(controller, "apply", BOTH)
    assert said(changed) == ["change cloudlets c1"] and not (await controller.get("/cloudlets/c1"))["approval"]
    assert changed["in_force"] and changed["revision"] == 2


async def test_alterations_are_made_together(controller: Controller, route_server: FakeRouteServer) -> None:
    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    for number in (1, 2):
        await controller.post("/vcps/blue/members", {"endpoint": f"c{number}-lan"})
    assert said(await done(controller, "apply", BOTH)) == []
    text = BOTH.replace("vtep: 192.0.2.1}", "vtep: 192.0.2.7, labels: {city: turin}}")
    text = text.replace("10.2.0.0/24}", "10.7.0.0/24, mtu: 1400, ports: [eth1]}")
    told = await done(controller, "apply", text)
    assert said(told) == ["change cloudlets c1", "change endpoints c2-lan"] and told["in_force"]
    assert [agent["cloudlet"] for agent in told["agents"]] == ["c1", "c2"]
    whats = [one["what"] for one in told["interrupted"]]
    assert any("until its agent has the new state" in what for what in whats)
    assert any("10.2.0.0/24 reach nothing beyond their LAN" in what for what in whats)
    assert (await one.document(told["generation"])).vtep == "192.0.2.7"
    assert (await other.document(told["generation"])).endpoints[0].ports == ["eth1"]
    kinds = await events(controller)
    assert {"cloudlet-changed", "endpoint-changed"} <= set(kinds)


async def test_what_is_gone_from_the_file_is_removed_and_the_rest_stays(controller: Controller) -> None:
    await controller.cloudlet("c9", 9)
    await controller.post("/devices", {"name": "m9", "mac": "02:00:5e:00:00:09"})
    await done(controller, "apply", ALL)
    text = f"{HEAD}cloudlets:\n  c2: {{pe: vpls, vtep: 192.0.2.2}}\n"
    planned = await done(controller, "plan", text)
    assert said(planned) == [
        "remove vms web", "remove devices m1", "remove endpoints c1-lan", "remove endpoints c2-lan",
        "remove cloudlets c1",
    ]  # fmt: skip
    assert planned["plan"]["untouched"] == {"cloudlets": 1, "endpoints": 1, "devices": 1}
    await done(controller, "apply", text, planned=planned["planned"])
    assert sorted(controller.region.intent.cloudlets) == ["c2", "c9"]
    assert sorted(controller.region.intent.endpoints) == ["c9-lan"]
    assert [one["name"] for one in (await controller.get("/devices"))["items"]] == ["m9"]
    assert (await controller.get("/vms"))["items"] == []
    kinds = await events(controller)
    assert {"vm-removed", "device-forgotten", "endpoint-removed", "cloudlet-removed"} <= set(kinds)
    named = await done(controller, "plan", f"{text}  c9: {{pe: vpls, vtep: 192.0.2.9}}\n")
    assert named["plan"]["adopted"] == {"cloudlets": 1} and said(named) == []


async def test_harm_is_told_before_and_some_needs_a_word(controller: Controller) -> None:
    await controller.agent("c1", 1)
    await controller.agent("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    for number in (1, 2):
        await controller.post("/vcps/blue/members", {"endpoint": f"c{number}-lan"})
    await done(controller, "apply", BOTH)
    await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await lease(controller, "m1", "md", "c1-lan")
    await lease(controller, "m1", "vm", "c2-lan")
    text = BOTH.replace("  c2-lan: {cloudlet: c2, prefix: 10.2.0.0/24}\n", "")
    planned = await done(controller, "plan", text)
    whats = {one["what"] for one in planned["change"]["interrupted"] if one["name"] == "c2-lan"}
    assert whats == {"it leaves blue, whose other members its hosts no longer reach", "its LAN ends, with 1 lease"}
    assert [(one["device"], one["md"], one["vm"]) for one in planned["disconnects"]] == [("m1", "c1-lan", "c2-lan")]
    assert planned["disconnects"][0]["at"]["line"] == 6
    for rehearsed in (False, True):
        answer = await ask(controller, "apply", text, dry_run=rehearsed)
        problem(answer, 409, "endpoints.c1-lan", "The inventory would cut 1 device off from a running VM")
    assert "c2-lan" in controller.region.intent.endpoints
    await done(controller, "apply", text, allow_disconnect=True, planned=planned["planned"])
    assert controller.region.intent.vcps["blue"].members == frozenset({"c1-lan"})


REFUSED = [
    (ALL.replace("vtep: 192.0.2.2", "vtep: 10.1.0.9"), 6, "endpoints.c1-lan.prefix", "contains 10.1.0.9, the VTEP"),
    (ALL.replace("cloudlet: c2", "cloudlet: c3"), 7, "endpoints.c2-lan.cloudlet", "there is no cloudlet 'c3'"),
    (ALL.replace("device: m1", "device: m2"), 11, "vms.web.device", "there is no registered device 'm2'"),
    (ALL.replace("endpoint: c1-lan", "endpoint: c1-lam"), 11, "vms.web.endpoint", "did you mean 'c1-lan'?"),
    (ALL.replace(":01'", ":99'"), 9, "devices.m1.mac", "02:00:5e:00:00:99 is m9's"),
    (ALL.replace("vtep: 192.0.2.2", "vtep: 192.0.2.9"), 4, "cloudlets.c2.vtep", "VTEP of cloudlet c9"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "field", "reason"), REFUSED, ids=[field for _, _, field, _ in REFUSED])
async def test_refusals_have_their_place_and_nothing_is_done(
    controller: Controller, text: str, line: int, field: str, reason: str
) -> None:
    await controller.post("/cloudlets", {"name": "c9", "pe": "vpls", "vtep": "192.0.2.9"})
    await controller.post("/devices", {"name": "m9", "mac": "02:00:5e:00:00:99"})
    before = controller.region.intent
    for verb in ("check", "plan", "apply"):
        answer = await ask(controller, verb, text, filename="i.yaml")
        problem(answer, 422, field, "The inventory has")
        assert answer.json()["type"] == "/problems/inventory-invalid"
        at = next(error for error in answer.json()["errors"] if error["field"] == field)
        assert reason in at["message"] and (at["file"], at["line"]) == ("i.yaml", line), at
    assert controller.region.intent is before and (await controller.get("/inventory"))["revision"] is None
    assert [one["name"] for one in (await controller.get("/devices"))["items"]] == ["m9"]


async def test_all_refusals_of_devices_and_vms_come_together(controller: Controller) -> None:
    await controller.post("/devices", {"name": "m9", "mac": "02:00:5e:00:00:99"})
    text = ALL.replace(":01'}", ":99'}").replace("endpoint: c1-lan", "endpoint: c3-lan")
    answer = await ask(controller, "check", text)
    problem(answer, 422, None, "The inventory has 2 errors")
    assert [error["field"] for error in answer.json()["errors"]] == ["devices.m1.mac", "vms.web.endpoint"]


async def test_what_cannot_change_is_refused_with_the_reason(controller: Controller) -> None:
    await done(controller, "apply", ALL)
    text = ALL.replace("c1: {pe: vpls", "c1: {pe: evpn").replace("image: debian", "image: other")
    answer = await ask(controller, "plan", text)
    problem(answer, 422, "cloudlets.c1.pe", "it is vpls and cannot be changed: its endpoints have the same flavour")
    assert [error["field"] for error in answer.json()["errors"]] == ["cloudlets.c1.pe", "vms.web.image"]


async def test_dependents_keep_their_objects(controller: Controller) -> None:
    await done(controller, "apply", ALL)
    await lease(controller, "m1", "md", "c1-lan")
    moved = await ask(controller, "plan", ALL.replace("10.1.0.0/24", "10.7.0.0/24"))
    problem(moved, 422, "endpoints.c1-lan.prefix", "10.1.0.2 of m1 depends on the present addresses of c1-lan")
    without = re.sub(r"devices:.*", "", ALL, flags=re.DOTALL)
    held = await ask(controller, "plan", without)
    problem(held, 422, "devices.m1", "m1 holds 10.1.0.2 at c1-lan: release it first")
    async with controller.region.database.write() as session:
        row = await vms.get(session, "web", lock=True)
        assert row is not None
        row.condition = "running"
    running = await ask(controller, "plan", ALL.replace("512M", "1G"))
    problem(running, 422, "vms.web", "web is running at c1-lan: stop it before it is changed")
    removed = await ask(controller, "apply", HEAD)
    problem(removed, 422, "vms.web", "web is running at c1-lan: stop it before it is removed")
    assert "c1-lan" in controller.region.intent.endpoints


async def test_devices_may_exchange_their_macs(controller: Controller) -> None:
    text = f"{HEAD}devices:\n  m1: {{mac: '02:00:5e:00:00:01'}}\n  m2: {{mac: '02:00:5e:00:00:02'}}\n"
    await done(controller, "apply", text)
    other = text.replace(":01'", ":xx'").replace(":02'", ":01'").replace(":xx'", ":02'")
    told = await done(controller, "apply", other)
    assert said(told) == ["change devices m1", "change devices m2"]
    assert (await controller.get("/devices/m1"))["mac"] == "02:00:5e:00:00:02"
    assert (await controller.get("/devices/m2"))["mac"] == "02:00:5e:00:00:01"


async def test_a_device_that_came_by_itself_is_registered_with_its_lease(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)
    granted = await agent.lease(endpoint="c1-lan", mac="02:00:5e:00:00:01")
    assert granted.is_success, granted.text
    await done(controller, "apply", f"{HEAD}devices: {{m1: {{mac: '02:00:5e:00:00:01'}}}}\n")
    held = await controller.get("/leases")
    assert [(one["device"], one["address"]) for one in held["items"]] == [("m1", granted.json()["address"])]


@pytest.mark.parametrize(
    ("body", "headers", "status", "reason"),
    [
        (b"\xff", {"content-type": "application/yaml"}, 400, "not UTF-8: byte 0"),
        (b"{}", {"content-type": "application/json"}, 415, "An inventory is application/yaml, not application/json"),
        (b"apiVersion: weft/v1\n", {"content-type": "application/yaml"}, 422, "this is a policy, not an inventory"),
    ],
)
async def test_bodies_that_are_no_inventory(
    controller: Controller, body: bytes, headers: dict[str, str], status: int, reason: str
) -> None:
    for verb in ("check", "plan", "apply"):
        answer = await controller.http.post(f"/api/v1/inventory/{verb}", content=body, headers=headers)
        problem(answer, status, None, reason)
