"""The change flow: receipts, confirmations, order, and absent parts."""

import asyncio

import pytest

from controller.core.rulesets import rule_set
from controller.db import intents
from lab.patience import eventually
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.copies import Copies
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_routeserver import FakeRouteServer, fake_route_server


async def test_a_join_is_in_force_when_route_server_and_kernels_agree(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    first = await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    assert first["in_force"] and first["agents"] == []
    joined = await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"})
    assert joined["in_force"] and not joined["unreachable"] and joined["generation"] == first["generation"] + 1
    assert [r["route_server"] for r in joined["route_servers"]] == ["rs1"]
    assert [(a["cloudlet"], a["confirmed"]) for a in joined["agents"]] == [("c1", True), ("c2", True)]
    assert all(0 < a["after_ms"] <= joined["duration_ms"] for a in joined["agents"])
    remote = one.documents[-1].endpoints[0].remotes[0]
    assert (remote.endpoint, remote.cloudlet, remote.vtep, remote.prefix) == (
        "c2-lan",
        "c2",
        "192.0.2.2",
        "10.2.0.0/24",
    )
    assert remote.ve_id == other.documents[-1].endpoints[0].ve_id
    left = await controller.delete("/vcps/blue/members/c1-lan")
    assert left["in_force"] and len(left["agents"]) == 2
    assert not one.documents[-1].endpoints[0].remotes and not other.documents[-1].endpoints[0].remotes
    assert route_server.rules == rule_set(controller.region.intent, 65000)
    assert not [entry for entry in route_server.log if entry.startswith("put")][1:], route_server.log


async def test_an_endpoints_limit_reaches_the_route_servers(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    await controller.cloudlet("c1", 1)
    body = {"name": "guests", "cloudlet": "c1", "prefix": "10.9.0.0/24", "max_routes": 64}
    assert (await controller.post("/endpoints", body))["max_routes"] == 64
    await eventually(lambda: route_server.rules.generation == controller.region.intent.generation)
    limits = {e.name: e.max_routes for e in route_server.rules.endpoints}
    assert limits == {"c1-lan": None, "guests": 64}
    problem = await controller.http.post("/api/v1/endpoints", json=body | {"name": "more", "max_routes": 0})
    assert problem.status_code == 422 and "max_routes" in problem.text


async def test_dry_run_asks_and_changes_nothing(controller: Controller, route_server: FakeRouteServer) -> None:
    agent = await controller.agent("c1", 1)
    await controller.agent("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    before, documents = controller.region.intent, len(agent.documents)
    told = await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"}, 200, dry_run=True)
    assert told["dry_run"] and not told["in_force"] and told["route_servers"][0]["dry_run"]
    assert [a["cloudlet"] for a in told["agents"]] == ["c1", "c2"]
    assert controller.region.intent is before and route_server.rules.generation == before.generation
    assert len(agent.documents) == documents
    assert (await controller.get("/vcps/blue"))["members"] == ["c1-lan"]


async def test_agents_that_are_not_there_are_named_at_once(controller: Controller) -> None:
    await controller.agent("c1", 1)
    await controller.cloudlet("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    joined = await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"})
    assert not joined["in_force"] and joined["duration_ms"] < 1000
    assert {a["cloudlet"]: a["confirmed"] for a in joined["agents"]} == {"c1": True, "c2": False}


async def test_a_silent_agent_is_waited_for_and_holds_back_nobody_else(
    start: Start, route_server: FakeRouteServer
) -> None:
    async with start(route_server, agent_timeout=1.0) as controller:
        await controller.agent("c1", 1)
        await controller.agent("c2", 2, answers=False)
        for number in (3, 4):
            await controller.agent(f"c{number}", number)
        for pool, member in (("blue", "c1-lan"), ("green", "c3-lan")):
            await controller.post("/vcps", {"name": pool})
            await controller.post(f"/vcps/{pool}/members", {"endpoint": member})
        slow = asyncio.create_task(controller.post("/vcps/blue/members", {"endpoint": "c2-lan"}))
        await eventually(lambda: "c2-lan" in controller.region.intent.vcps["blue"].members)
        quick = await controller.post("/vcps/green/members", {"endpoint": "c4-lan"})
        assert quick["in_force"] and not slow.done()
        told = await slow
        assert not told["in_force"]
        assert {a["cloudlet"]: a["confirmed"] for a in told["agents"]} == {"c1": True, "c2": False}


async def test_a_report_that_does_not_show_the_tunnels_confirms_nothing(start: Start) -> None:
    async with start(agent_timeout=0.4) as controller:
        agent = await controller.agent("c1", 1, answers=False)
        await controller.agent("c2", 2)
        await controller.post("/vcps", {"name": "blue"})
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        task = asyncio.create_task(controller.post("/vcps/blue/members", {"endpoint": "c2-lan"}))
        await eventually(lambda: "c2-lan" in controller.region.intent.vcps["blue"].members)
        document = await agent.document(controller.region.intent.generation)
        bare = document.model_copy(
            update={"endpoints": [e.model_copy(update={"remotes": []}) for e in document.endpoints]}
        )
        assert (await agent.report(kernel(bare))).status_code == 204
        stale = kernel(document).model_copy(update={"generation": document.generation - 1})
        assert (await agent.report(stale)).status_code == 204
        told = await task
        assert {a["cloudlet"]: a["confirmed"] for a in told["agents"]} == {"c1": False, "c2": True}


async def test_evpn_tunnels_are_told_apart_by_vtep(controller: Controller) -> None:
    one, _ = await controller.agent("c1", 1, pe="evpn"), await controller.agent("c2", 2, pe="evpn")
    await controller.post("/vcps", {"name": "amber", "flavour": "evpn"})
    await controller.post("/vcps/amber/members", {"endpoint": "c1-lan"})
    joined = await controller.post("/vcps/amber/members", {"endpoint": "c2-lan"})
    assert joined["in_force"]
    endpoint = one.documents[-1].endpoints[0]
    assert (endpoint.vni, endpoint.ve_id, endpoint.remotes[0].ve_id) == (10000, None, None)


async def test_route_server_that_is_away_is_named_and_brought_up_to_date(start: Start) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.agent("c1", 1)
        await controller.post("/vcps", {"name": "blue"})
        two.down = True
        two.happen("over")
        await eventually(lambda: not controller.region.route_servers.syncs[1].reachable)
        joined = await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        assert joined["unreachable"] == ["rs2"] and not joined["in_force"]
        assert [r["route_server"] for r in joined["route_servers"]] == ["rs1"]
        two.down = False
        await eventually(lambda: two.rules == one.rules)
        assert two.rules.generation == joined["generation"]
        found = {e["type"] for e in (await controller.get("/events", limit=1000))["items"]}
        assert {"route-server-unreachable", "route-server-reachable"} <= found


async def test_route_server_that_restarts_at_the_right_generation_is_confirmed(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    await controller.post("/vcps", {"name": "blue"})
    await eventually(lambda: route_server.rules.generation == controller.region.intent.generation)
    replaced = [entry for entry in route_server.log if entry.startswith("put")]
    route_server.down = True
    route_server.happen("over")
    await eventually(lambda: not controller.region.route_servers.syncs[0].reachable)
    route_server.restart()
    route_server.down = False
    await eventually(lambda: route_server.confirmed and controller.region.route_servers.syncs[0].reachable)
    assert [entry for entry in route_server.log if entry.startswith("put")] == replaced


async def test_route_server_that_lost_its_place_gets_the_whole_rule_set(
    controller: Controller, route_server: FakeRouteServer
) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/vcps", {"name": "blue"})
    await eventually(lambda: route_server.rules.generation == controller.region.intent.generation)
    route_server.rules = route_server.rules.model_copy(update={"generation": 1, "vcps": []})
    joined = await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    assert joined["route_servers"][0]["generation"] == joined["generation"]
    assert route_server.rules == rule_set(controller.region.intent, 65000)
    assert route_server.log[-1] == f"put {joined['generation']}"


async def test_a_burst_of_changes_arrives_in_order(controller: Controller, route_server: FakeRouteServer) -> None:
    await controller.cloudlet("c1", 1)
    route_server.delay = 0.01
    names = [f"p{i}" for i in range(12)]
    await asyncio.gather(*(controller.post("/vcps", {"name": name}) for name in names))
    await asyncio.gather(*(controller.post(f"/vcps/{name}/members", {"endpoint": "c1-lan"}) for name in names))
    numbers = [int(entry.split()[1]) for entry in route_server.log if entry.startswith("change")]
    assert numbers == sorted(numbers) and len(numbers) >= 24
    assert route_server.rules == rule_set(controller.region.intent, 65000)


async def test_concurrent_joins_of_one_endpoint_end_in_one_membership(controller: Controller) -> None:
    await controller.agent("c1", 1)
    await controller.post("/vcps", {"name": "blue"})
    answers = await asyncio.gather(
        *(controller.http.post("/api/v1/vcps/blue/members", json={"endpoint": "c1-lan"}) for _ in range(8))
    )
    assert sorted(a.status_code for a in answers) == [201] + [409] * 7


async def test_everything_is_there_after_a_restart(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server) as controller:
        agent = await controller.agent("c1", 1)
        await controller.agent("c2", 2)
        await controller.post("/vcps", {"name": "blue", "description": "for all"})
        for name in ("c1", "c2"):
            await controller.post("/vcps/blue/members", {"endpoint": f"{name}-lan"})
        before, version = controller.region.intent, agent.documents[-1].version
    route_server.log.clear()
    async with start(route_server) as controller:
        assert controller.region.intent == before
        assert route_server.log == [f"confirm {before.generation}"]
        again = FakeAgent(controller.http, agent.headers["Authorization"].removeprefix("Bearer "))
        await controller.follow(again, last_id=version)
        await eventually(lambda: controller.region.agents.registry.of("c1").connected)
        left = await controller.delete("/vcps/blue/members/c1-lan")
        assert {a["cloudlet"]: a["confirmed"] for a in left["agents"]} == {"c1": True, "c2": False}
        assert again.documents[0].generation > version, "the document it had was not sent again"


async def test_other_route_servers_mean_new_desired_states(start: Start, route_server: FakeRouteServer) -> None:
    async with start() as controller:
        credential = await controller.cloudlet("c1", 1)
        before = controller.region.intent
    async with start(route_server) as controller:
        assert controller.region.intent.generation == before.generation + 1
        agent = FakeAgent(controller.http, credential)
        await controller.follow(agent, last_id=before.cloudlets["c1"].version)
        document = await agent.document(before.generation + 1)
        assert [s.name for s in document.speakers] == ["rs1"]


async def test_an_old_copy_of_the_database_overtakes_what_the_route_server_has(
    start: Start, route_server: FakeRouteServer, copies: Copies
) -> None:
    async with start(route_server) as controller:
        await controller.cloudlet("c1", 1)
    await copies.keep()
    async with start(route_server) as controller:
        await controller.post("/vcps", {"name": "blue"})
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        ahead = controller.region.intent.generation
        await eventually(lambda: route_server.rules.generation == ahead)
    await copies.put_back()
    async with start(route_server) as controller:
        assert controller.region.intent.generation == ahead + 1 and not controller.region.intent.vcps
        assert route_server.rules == rule_set(controller.region.intent, 65000)
        assert controller.region.intent.cloudlets["c1"].version == ahead + 1


async def test_removal_tells_the_agent_and_ends_its_stream(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)
    await controller.delete("/cloudlets/c1")
    await eventually(lambda: agent.ended)
    assert agent.documents[-1].endpoints == [] and agent.documents[-1].speakers == []
    answer = await agent.report(kernel(agent.documents[-1]))
    assert answer.status_code == 401


async def test_a_draining_cloudlet_leaves_its_pools_and_cannot_join(controller: Controller) -> None:
    for number in (1, 2):
        await controller.agent(f"c{number}", number)
    for pool in ("blue", "green"):
        await controller.post("/vcps", {"name": pool})
        for number in (1, 2):
            await controller.post(f"/vcps/{pool}/members", {"endpoint": f"c{number}-lan"})
    generation = controller.region.intent.generation
    drained = await controller.post("/cloudlets/c1/drain", status=200)
    assert drained["in_force"] and drained["generation"] == generation + 1
    assert (await controller.get("/vcps/blue"))["members"] == ["c2-lan"]
    await controller.refused(409, "/vcps/blue/members", {"endpoint": "c1-lan"}, "endpoint", "is draining")
    await controller.post("/cloudlets/c1/approve", status=200)
    assert (await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"}))["in_force"]


async def test_events_of_route_servers_become_ours_once(start: Start, route_server: FakeRouteServer) -> None:
    async def quarantined(controller: Controller) -> list[str]:
        page = await controller.get("/events", limit=1000)
        return [e["subject"] for e in page["items"] if e["type"] == "quarantined"]

    route_server.happen("quarantined", peer="c1", text="c1 announces 65000:9, which is nobody's")
    for _ in range(2):
        async with start(route_server) as controller:
            await eventually(lambda: controller.region.route_servers.syncs[0].reachable)
            await asyncio.sleep(0.2)
            assert await quarantined(controller) == ["c1"]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_caller_that_goes_away_does_not_stop_a_change(controller: Controller, moment: str) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/vcps", {"name": "blue"})
    task = asyncio.create_task(controller.post("/vcps/blue/members", {"endpoint": "c1-lan"}))
    await asyncio.sleep(0 if moment == "before" else 0.002)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0.1)

    async def the_database_agrees() -> bool:
        async with controller.region.database.read() as session:
            present = controller.region.intent
            return (await intents.load(session)).but(route_servers=present.route_servers) == present

    await eventually(the_database_agrees, "the database and the region have the same intent")
