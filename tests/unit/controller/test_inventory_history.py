"""The inventory over time: who was faster, trials, going back, drift, and what is exported."""

import asyncio
from typing import Any

import pytest

from controller.db.inventories import INVENTORIES
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.inventories import ALL, BOTH, HEAD, ask, done, said

WIDE = BOTH.replace("10.2.0.0/24}", "10.2.0.0/24, mtu: 1400}")


async def test_a_plan_that_does_not_hold_any_more_is_told_so(controller: Controller) -> None:
    planned = (await done(controller, "plan", ALL))["planned"]
    await controller.post("/devices", {"name": "m9", "mac": "02:00:5e:00:00:99"})  # does not concern the plan
    await done(controller, "apply", ALL, planned=planned, dry_run=True)
    await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    late = await ask(controller, "apply", ALL, planned=planned)
    problem(late, 409, None, f"The plan made at generation {planned.partition('-')[0]} does not hold any more")
    assert late.json()["type"] == "/problems/plan-changed" and not controller.region.intent.cloudlets


async def test_of_two_operators_at_once_one_gets_the_difference(controller: Controller) -> None:
    base = (await done(controller, "apply", BOTH))["etag"]
    first, second = await asyncio.gather(ask(controller, "apply", WIDE, base), ask(controller, "apply", ALL, base))
    assert sorted([first.status_code, second.status_code]) == [200, 412]
    late = second if second.status_code == 412 else first
    problem(late, 412, None, "Another inventory has come into force meanwhile: revision 2 (inventory.yaml")
    assert late.json()["diff"].splitlines()[:2] == ["--- revision 1", "+++ revision 2"]
    problem(await ask(controller, "apply", ALL, '"beef-1"'), 412, None, "based on one that was never in force here")


async def test_revisions_are_kept_and_compared(controller: Controller) -> None:
    await done(controller, "apply", BOTH, filename="one.yaml")
    await done(controller, "apply", WIDE, filename="two.yaml")
    found = (await controller.get("/inventory/revisions"))["items"]
    assert [(one["revision"], one["filename"], one["in_force"]) for one in found] == [
        (2, "two.yaml", True), (1, "one.yaml", False),
    ]  # fmt: skip
    assert [step["name"] for step in found[0]["summary"]["steps"]] == ["c2-lan"]
    assert found[0]["applied_by"] and found[0]["note"] == ""
    assert (await controller.get("/inventory/revisions/1"))["text"] == BOTH
    shown = await controller.get("/inventory")
    assert (shown["text"], shown["revision"], shown["back_to"]) == (WIDE, 2, 1)
    diff = (await controller.get("/inventory/diff", before=1))["diff"]
    assert "+  c2-lan: {cloudlet: c2, prefix: 10.2.0.0/24, mtu: 1400}" in diff
    missing = await controller.http.get("/api/v1/inventory/revisions/3")
    problem(missing, 404, None, "there is no revision '3'")


async def test_a_rollback_removes_what_came_since(controller: Controller) -> None:
    nothing = await ask(controller, "rollback")
    problem(nothing, 409, None, "no other inventory was in force before")
    await done(controller, "apply", BOTH)
    await done(controller, "apply", ALL)
    rehearsed = await done(controller, "rollback", dry_run=True)
    assert said(rehearsed) == ["remove vms web", "remove devices m1"] and rehearsed["revision"] is None
    stale = await ask(controller, "rollback", tag='"0-0"')
    problem(stale, 412, None, "This was to go back from none: see by the diff whether it is still to be")
    back = await done(controller, "rollback")
    assert back["revision"] == 3 and (await controller.get("/devices"))["items"] == []
    assert (await controller.get("/inventory/revisions/3"))["note"] == "rollback to revision 1"
    again = await done(controller, "rollback", revision=2)
    assert said(again) == ["create devices m1", "create vms web"]


async def test_a_trial_goes_back_with_its_revision(controller: Controller) -> None:
    await done(controller, "apply", BOTH)
    tried = await done(controller, "apply", WIDE, confirm_within=600)
    assert tried["confirm_by"] and controller.region.intent.endpoints["c2-lan"].mtu == 1400
    problem(await ask(controller, "apply", ALL), 409, None, "is on trial until")
    await controller.post(f"/changes/{tried['generation']}/rollback", status=200)
    assert controller.region.intent.endpoints["c2-lan"].mtu == 1450
    shown = await controller.get("/inventory")
    assert (shown["revision"], shown["text"]) == (1, BOTH)
    assert (await controller.get("/inventory/revisions/2"))["withdrawn_at"] is not None
    assert not (await controller.get("/inventory/drift"))["drift"]
    kept = await done(controller, "apply", WIDE, confirm_within=600)
    await controller.post(f"/changes/{kept['generation']}/confirm", status=200)
    assert (await controller.get("/inventory"))["revision"] == 3


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (ALL, 409, "device m1 cannot be on trial"),
        (BOTH.replace("192.0.2.1}", "192.0.2.1, approval: true}"), 409, "cloudlet c1 cannot be on trial"),
        (f"{BOTH}  c1-two: {{cloudlet: c1, prefix: 10.3.0.0/24}}\n", 422, "c1-two is made, which a trial cannot take"),
        (BOTH.replace("  c2-lan: {cloudlet: c2, prefix: 10.2.0.0/24}\n", ""), 422, "c2-lan is removed, which a trial"),
    ],
)
async def test_only_alterations_can_be_on_trial(controller: Controller, text: str, status: int, reason: str) -> None:
    await done(controller, "apply", BOTH)
    for rehearsed in (True, False):
        problem(await ask(controller, "apply", text, confirm_within=60, dry_run=rehearsed), status, None, reason)
    assert (await controller.get("/inventory"))["revision"] == 1


async def test_drift_begins_and_ends(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.changes.drift_watch.PAUSE", 0.01)
    monkeypatch.setattr("controller.changes.drift_watch.SHARE", 0.0)
    assert not (await controller.get("/inventory/drift"))["drift"]
    await done(controller, "apply", ALL)
    answer = await controller.http.patch("/api/v1/endpoints/c2-lan", json={"mtu": 1300})
    assert answer.is_success, answer.text
    found = await controller.get("/inventory/drift")
    assert found["drift"] and found["revision"] == 1
    assert found["plan"]["steps"] == [
        {
            "action": "change",
            "section": "endpoints",
            "name": "c2-lan",
            "fields": [{"field": "mtu", "before": 1300, "after": 1450}],
        }
    ]
    differences = (await controller.get("/doctor"))["differences"]
    told = [one for one in differences if one["kind"] == "inventory-drift"]
    assert [one["text"] for one in told] == ["endpoint c2-lan differs in mtu; weft inventory drift says more"]

    async def types() -> list[str]:
        return [e["type"] for e in (await controller.get("/events", limit=1000))["items"] if "drift" in e["type"]]

    async def told_in_the_background(*wanted: str) -> None:
        async def are() -> bool:
            return await types() == list(wanted)

        await eventually(are)

    await told_in_the_background("inventory-drift")
    assert b"weft_inventory_drift 1.0" in (await controller.http.get("/metrics")).content
    mended = await done(controller, "apply", ALL)
    assert mended["revision"] == 2 and said(mended) == ["change endpoints c2-lan"]
    await told_in_the_background("inventory-drift", "inventory-drift-ended")
    await controller.http.delete("/api/v1/vms/web")
    assert said(await controller.get("/inventory/drift")) == ["create vms web"]


async def test_an_inventory_that_cannot_be_read_is_told(start: Start) -> None:
    async with start() as first:
        await done(first, "apply", BOTH)
        async with first.region.database.write() as session:
            row = await INVENTORIES.latest(session)
            assert row is not None
            row.text = "apiVersion: weft/inventory/v9\n"
        found = await first.get("/inventory/drift")
        assert not found["drift"] and found["trouble"][0]["field"] == "apiVersion"
        texts = [one["found"] for one in (await first.get("/doctor"))["differences"]]
        assert "one that cannot" in texts
        assert said(await done(first, "plan", HEAD)) == [
            "remove endpoints c1-lan", "remove endpoints c2-lan", "remove cloudlets c1", "remove cloudlets c2",
        ]  # fmt: skip


async def test_an_export_applied_changes_nothing(controller: Controller) -> None:
    more: dict[str, Any] = {"place": {"latitude": 45.5, "longitude": 7.25}, "ports": ["md*", "eth1"], "mtu": 1400}
    agent = await controller.agent("c1", 1, **more)
    await controller.cloudlet("c2", 2, pe="evpn")
    unmanaged: dict[str, Any] = {"name": "r1", "pe": "vpnv4", "vtep": "192.0.2.9", "unmanaged": True, "asn": 64900}
    await controller.post("/cloudlets", {**unmanaged, "labels": {"city": "no", "floor": "3", "odd": "it's: #1"}})
    await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01", "vm": {"client_id": "00ff"}})
    await controller.post("/devices", {"name": "m2", "client_id": "12"})
    vm = {"name": "web", "device": "m2", "endpoint": "c1-lan", "driver": "qemu", "image": "debian", "memory": 1 << 29}
    extra = {"disk": {"base": "debian", "bytes": 512 * 4099}, "options": {"cmdline": "a=b c"}, "check": "tcp:80"}
    await controller.post("/vms", {**vm, **extra, "cpu": "host"})
    assert (await agent.lease(endpoint="c1-lan", mac="02:00:5e:00:00:77")).is_success
    text = (await controller.get("/inventory/export"))["text"]
    before = controller.region.intent
    planned = await done(controller, "plan", text)
    assert said(planned) == [] and planned["plan"]["untouched"] == {}, "devices without registration do not count"
    assert planned["plan"]["adopted"] == {"cloudlets": 3, "endpoints": 2, "devices": 2, "vms": 1}
    applied = await done(controller, "apply", text)
    assert controller.region.intent is before and applied["revision"] == 1
    assert (await controller.get("/inventory/export"))["text"] == text


async def test_a_character_that_no_file_can_have_is_named(controller: Controller) -> None:
    await controller.post("/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1", "labels": {"x": "a\u2028"}})
    answer = await controller.http.get("/api/v1/inventory/export")
    problem(answer, 409, None, "cloudlets.c1.labels.x has the character")
