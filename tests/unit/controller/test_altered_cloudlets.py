"""Cloudlets that are changed: VTEP, session, labels, approval."""

from typing import Any

import httpx
import pytest

from controller.core.rulesets import rule_set
from controller.db import cloudlets as table
from lab.patience import eventually
from tests.unit.controller import vm_region
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.test_altered_endpoints import joined

ONE = "/api/v1/cloudlets/c1"


async def patch(controller: Controller, body: dict[str, Any], path: str = ONE, **query: Any) -> httpx.Response:
    return await controller.http.patch(path, json=body, params=query)


async def done(controller: Controller, body: dict[str, Any], path: str = ONE, **query: Any) -> Any:
    answer = await patch(controller, body, path, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_another_vtep_reaches_all_that_have_tunnels_there(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    agents = [await controller.agent(f"c{number}", number) for number in (1, 2, 3)]
    await joined(controller, "c1-lan", "c2-lan")
    told = await done(controller, {"vtep": "192.0.2.77"})
    assert [a["cloudlet"] for a in told["agents"]] == ["c1", "c2"], "c3 has no tunnel there"
    assert told["interrupted"][0]["what"].startswith("its BGP sessions and its tunnels, to c2, end until its agent")
    own = await agents[0].document(told["generation"])
    assert (own.vtep, own.router_id, own.endpoints[0].vtep) == ("192.0.2.77",) * 3
    assert (await agents[1].document(told["generation"])).endpoints[0].remotes[0].vtep == "192.0.2.77"
    await eventually(lambda: route_server.rules == rule_set(controller.region.intent, 65000))
    assert {p.name: p.address for p in route_server.rules.peers}["c1"] == "192.0.2.77"
    permits = route_server.rules.endpoints[0].permits
    assert permits is not None and permits.next_hops == ["192.0.2.77"]
    assert (await controller.get("/cloudlets/c1"))["vtep"] == "192.0.2.77"


async def test_one_takes_the_vtep_that_another_gives_up(controller: Controller, route_server: FakeRouteServer) -> None:
    from controller.core.alterations import alter_cloudlets

    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number)
    problem(await patch(controller, {"vtep": "192.0.2.2"}), 409, "vtep", "is the VTEP of cloudlet c2")
    fields = {"c1": {"vtep": "192.0.2.2"}, "c2": {"vtep": "192.0.2.22"}}
    await controller.region.changes.flow.apply(lambda intent: alter_cloudlets(intent, fields), "handed on")
    await eventually(lambda: route_server.rules == rule_set(controller.region.intent, 65000))
    async with controller.region.database.read() as session:
        assert [row.vtep for row in await table.page(session, "", 9)] == ["192.0.2.2", "192.0.2.22"]


async def test_a_vtep_on_trial_goes_back(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server) as controller:
        agent = await controller.agent("c1", 1)
        tried = await done(controller, {"vtep": "192.0.2.77", "labels": {"city": "turin"}}, confirm_within=600)
        assert (await agent.document(tried["generation"])).vtep == "192.0.2.77"
        problem(await patch(controller, {"labels": {"city": "rome"}}), 409, reason="on trial")
        await controller.post(f"/changes/{tried['generation']}/rollback", status=200)
        after = controller.region.intent.cloudlets["c1"]
        assert (after.vtep, dict(after.labels)) == ("192.0.2.1", {})
        await eventually(lambda: route_server.rules == rule_set(controller.region.intent, 65000))
        only = await done(controller, {"labels": {"city": "turin"}}, confirm_within=600)
        assert only["confirm_by"], "also a change that concerns no route server and no agent"
        await controller.post(f"/changes/{only['generation']}/rollback", status=200)
        assert not controller.region.intent.cloudlets["c1"].labels
        untold = await done(controller, {"labels": {}}, confirm_within=600)
        assert untold["confirm_by"] is None


async def test_a_pe_without_an_agent_gets_another_session(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    body = {"name": "r1", "pe": "evpn", "vtep": "192.0.2.9", "unmanaged": True, "asn": 64900}
    await controller.post("/cloudlets", body)
    told = await done(controller, {"asn": 64901, "ttl_security": 2}, "/api/v1/cloudlets/r1")
    assert [one["kind"] for one in told["interrupted"]] == ["cloudlet", "cloudlet"]
    await eventually(lambda: route_server.rules == rule_set(controller.region.intent, 65000))
    assert [(p.asn, p.ttl_security) for p in route_server.rules.peers] == [(64901, 2)]
    await done(controller, {"asn": None, "ttl_security": None}, "/api/v1/cloudlets/r1")
    shown = await controller.get("/cloudlets/r1")
    assert (shown["asn"], shown["ttl_security"]) == (None, None)


async def test_labels_are_merged_and_removed(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await done(controller, {"labels": {"city": "turin", "tier": "edge"}, "latitude": 45.0, "longitude": 7.0})
    await done(controller, {"labels": {"tier": None}})
    assert (await controller.get("/cloudlets/c1"))["labels"] == {"city": "turin"}
    await done(controller, {"labels": None, "latitude": None, "longitude": None})
    shown = await controller.get("/cloudlets/c1")
    assert (shown["labels"], shown["latitude"]) == ({}, None)
    kinds = {event["type"] for event in (await controller.get("/events"))["items"]}
    assert "cloudlet-described" in kinds and "cloudlet-changed" not in kinds


async def test_the_next_enrolment_may_wait_for_approval(controller: Controller) -> None:
    invited = await controller.post("/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})
    told = await done(controller, {"approval": True}, dry_run=True)
    assert told["dry_run"] and not (await controller.get("/cloudlets/c1"))["approval"]
    await done(controller, {"approval": True})
    await controller.enrol("c1", invited["token"])
    assert (await controller.get("/cloudlets/c1"))["state"] == "pending"
    await done(controller, {"approval": None})
    assert not (await controller.get("/cloudlets/c1"))["approval"]
    problem(await patch(controller, {"approval": True}, confirm_within=5), 422, "approval", "cannot be on trial")


@pytest.mark.parametrize(
    ("body", "status", "field", "reason"),
    [
        ({"name": "c2"}, 422, "name", "cannot be changed: remove the cloudlet"),
        ({"pe": "evpn"}, 422, "pe", "cannot be changed: its endpoints have the same flavour"),
        ({"unmanaged": True}, 422, "unmanaged", "cannot be changed"),
        ({"state": "active"}, 422, "state", "cannot be changed: its agent enrols"),
        ({"vtep": None}, 422, "vtep", "a cloudlet has a VTEP"),
        ({"vtep": "192.0.2.200"}, 409, "vtep", "is the address of route server rs1"),
        ({"asn": 64900}, 422, "asn", "only an unmanaged PE has its own"),
        ({"longitude": 7.0}, 422, "latitude", "both latitude and longitude"),
    ],
)
async def test_wrong_values(controller: Controller, body: dict[str, Any], status: int, field: str, reason: str) -> None:
    await controller.cloudlet("c1", 1)
    before = controller.region.intent
    problem(await patch(controller, body), status, field, reason)
    problem(await patch(controller, {"labels": {}}, "/api/v1/cloudlets/c7"), 404, reason="no cloudlet 'c7'")
    assert controller.region.intent is before


async def test_a_vtep_stays_while_a_vm_moves(controller: Controller) -> None:
    await vm_region.region(controller)
    await controller.post("/vms", vm_region.WEB)
    await vm_region.begin_move(controller, "web")
    for path in ("/api/v1/cloudlets/c1", "/api/v1/cloudlets/c2"):
        answer = await patch(controller, {"vtep": "192.0.2.77"}, path)
        problem(answer, 409, "vtep", "the move mv1 of web is under way: wait for its end")
    await done(controller, {"labels": {"city": "turin"}})
