"""Changes on trial in the controller. tests/integration/test_trials.py tests them with real route servers."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from controller.core.rulesets import rule_set
from controller.routeservers import in_step, sync
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer, fake_route_server

pytestmark = pytest.mark.slow


@pytest.fixture
async def blue(controller: Controller) -> AsyncIterator[Controller]:
    """Two active cloudlets, the first in a pool."""
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number)
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    yield controller


async def tried(controller: Controller, within: int) -> int:
    joined = await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"}, confirm_within=within)
    assert joined["confirm_by"]
    return int(joined["generation"])


async def test_nothing_is_built_on_a_change_on_trial(blue: Controller, route_server: FakeRouteServer) -> None:
    invited = await blue.post("/cloudlets", {"name": "c3", "pe": "vpls", "vtep": "192.0.2.3"})
    number = await tried(blue, 600)
    intent = blue.region.intent
    for path, body in (("/vcps", {"name": "green"}), ("/cloudlets", {"name": "c4", "pe": "vpls", "vtep": "192.0.2.4"})):
        answer = await blue.http.post(f"/api/v1{path}", json=body)
        problem(answer, 409, reason=f"change {number} is on trial until")
    problem(await blue.http.delete("/api/v1/vcps/blue/members/c1-lan"), 409, reason="on trial")
    problem(await blue.http.delete("/api/v1/endpoints/c1-lan", params={"dry_run": True}), 409, reason="on trial")
    late = await blue.http.post("/api/v1/vcps/blue/members", json={"endpoint": "c1-lan"}, params={"confirm_within": 5})
    problem(late, 409, reason="is a member of blue already")
    enrolment = {"token": invited["token"], "cloudlet": "c3", "agent_version": "1"}
    later = await blue.http.post("/api/v1/enrolments", json=enrolment)
    problem(later, 503, reason="on trial")
    assert later.headers["retry-after"]
    assert blue.region.intent is intent
    await blue.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})  # concerns no route server and no agent
    back = await blue.post(f"/changes/{number}/rollback", status=200)
    assert back["generation"] == number + 1
    assert set(blue.region.intent.cloudlets) == {"c1", "c2", "c3"}
    assert blue.region.intent.vcps["blue"].members == {"c1-lan"}
    await eventually(lambda: route_server.rules == rule_set(blue.region.intent, 65000))
    assert await blue.post("/enrolments", enrolment)


async def test_a_change_is_settled_once(blue: Controller) -> None:
    number = await tried(blue, 600)
    confirmed = await blue.post(f"/changes/{number}/confirm", status=200)
    assert confirmed["in_force"] and confirmed["generation"] == number
    for verb in ("confirm", "rollback"):
        problem(await blue.http.post(f"/api/v1/changes/{number}/{verb}"), 409, reason="was confirmed already")
        problem(await blue.http.post(f"/api/v1/changes/{number - 1}/{verb}"), 409, reason="never on trial")
        problem(await blue.http.post(f"/api/v1/changes/999/{verb}"), 404, reason="no change '999'")
    shown = await blue.get(f"/changes/{number}")
    assert shown["state"] == "confirmed" and shown["settled_at"] and shown["cause"] == "c2-lan joined blue"
    listed = (await blue.get("/changes", limit=2))["items"]
    assert [change["generation"] for change in listed] == [number, number - 1]
    for wrong in (0, 86_401, "soon"):
        answer = await blue.http.delete("/api/v1/vcps/blue/members/c2-lan", params={"confirm_within": wrong})
        problem(answer, 422, "confirm_within")


async def test_the_time_runs_out_while_the_controller_is_down(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server) as first:
        agent = await first.agent("c1", 1)
        await first.cloudlet("c2", 2)
        await first.post("/vcps", {"name": "blue"})
        await first.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        number = await tried(first, 1)
        assert agent.documents[-1].endpoints[0].remotes
        first.region.changes.flow.trial = None  # its clock stops as if the process had been killed
    first_put = len(route_server.log)
    await asyncio.sleep(1)
    async with start(route_server) as second:
        assert second.region.intent.generation == number + 1
        assert second.region.intent.vcps["blue"].members == {"c1-lan"}
        assert [entry.split()[0] for entry in route_server.log[first_put:]] == ["put", "confirm"]
        assert (await second.get(f"/changes/{number}"))["state"] == "rolled-back"
        wanted = second.region.intent.cloudlets["c1"].version
        assert wanted == number + 1  # the agent gets a new document


async def test_a_controller_that_comes_back_in_time_does_not_confirm(
    start: Start, route_server: FakeRouteServer
) -> None:
    async with start(route_server) as first:
        for number in (1, 2):
            await first.cloudlet(f"c{number}", number)
        await first.post("/vcps", {"name": "blue"})
        number = await tried(first, 600)
        first.region.changes.flow.trial = None
    log = len(route_server.log)
    async with start(route_server) as second:
        assert second.region.changes.flow.trial and second.region.changes.flow.trial.generation == number
        assert not [entry for entry in route_server.log[log:] if entry.startswith("confirm")], route_server.log
        await second.post(f"/changes/{number}/confirm", status=200)
        assert route_server.log[-1] == f"confirm {number}"
    async with start(route_server, asn=65001) as third:
        assert third.region.changes.flow.trial is None


async def test_other_settings_and_older_databases_end_a_trial(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server) as first:
        for number in (1, 2):
            await first.cloudlet(f"c{number}", number)
        await first.post("/vcps", {"name": "blue"})
        number = await tried(first, 600)
        await first.region.changes.flow.renew(number + 10)
        assert first.region.changes.flow.trial is None and first.region.intent.generation == number + 11
        assert not first.region.intent.vcps["blue"].members
        number = await tried(first, 600)
    async with start(route_server, asn=65001) as second:
        assert second.region.changes.flow.trial is None and not second.region.intent.vcps["blue"].members
        assert (await second.get(f"/changes/{number}"))["state"] == "rolled-back"


async def test_rehearsals_change_nothing(blue: Controller, route_server: FakeRouteServer) -> None:
    await blue.post("/vcps/blue/members", {"endpoint": "c2-lan"})
    intent, policy = blue.region.intent, "apiVersion: weft/v1\nvcps:\n  green:\n    members: [c1-lan]\n"
    for method, path in (
        ("DELETE", "/vcps/blue/members/c1-lan"),
        ("DELETE", "/endpoints/c1-lan"),
        ("POST", "/cloudlets/c1/drain"),
    ):
        answer = await blue.http.request(method, f"/api/v1{path}", params={"dry_run": True})
        told = answer.json()
        assert answer.status_code == 200 and told["dry_run"] and told["generation"] == intent.generation + 1
        assert [receipt["dry_run"] for receipt in told["route_servers"]] == [True]
        assert "c2" in [agent["cloudlet"] for agent in told["agents"]]
    told = (await blue.http.post("/api/v1/policy/apply", content=policy, params={"dry_run": True})).json()
    assert told["plan"]["create"] == ["green"] and told["route_servers"][0]["generation"] == intent.generation + 1
    stale = await blue.http.delete(
        "/api/v1/vcps/blue/members/c1-lan", params={"dry_run": True}, headers={"If-Match": '"1"'}
    )
    problem(stale, 412)
    assert blue.region.intent is intent and (await blue.get("/policy"))["text"] == ""
    assert route_server.rules.generation == intent.generation


async def test_a_policy_that_changes_nothing_is_not_on_trial(blue: Controller) -> None:
    policy = "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]\n"
    adopted = (await blue.http.post("/api/v1/policy/apply", content=policy, params={"confirm_within": 600})).json()
    assert adopted["confirm_by"]  # blue comes under the policy: this needs confirmation, though no route changes
    number = adopted["generation"]
    await blue.post(f"/changes/{number}/rollback", status=200)
    assert not blue.region.intent.vcps["blue"].managed_by_policy and (await blue.get("/policy"))["text"] == ""
    await blue.http.post("/api/v1/policy/apply", content=policy)
    again = (await blue.http.post("/api/v1/policy/apply", content=policy, params={"confirm_within": 600})).json()
    assert again["confirm_by"] is None and blue.region.changes.flow.trial is None


async def test_agents_follow_a_rollback(controller: Controller) -> None:
    one, other = await controller.agent("c1", 1), await controller.agent("c2", 2)
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    joined = await controller.post("/vcps/blue/members", {"endpoint": "c2-lan"}, confirm_within=1)
    assert joined["in_force"] and one.documents[-1].endpoints[0].remotes
    for agent in (one, other):
        await agent.document(joined["generation"] + 1)
        assert not agent.documents[-1].endpoints[0].remotes


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_they_agree_in_the_end(start: Start, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Trials are confirmed, rolled back or left to expire, while route servers go, come back and let trials expire, and
    the controller restarts. In the end exactly the confirmed changes are in force."""
    monkeypatch.setattr(sync, "RETRY", 0.01)
    monkeypatch.setattr(in_step, "HEARTBEAT", 0.02)
    chance = random.Random(seed)
    settled: set[str] = set()
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two:
        async with start(one, two) as controller:
            for n in (1, 2, 3):
                await controller.cloudlet(f"c{n}", n)
            await controller.post("/vcps", {"name": "blue"})
        for _ in range(3):
            one.down = two.down = False
            async with start(one, two, agent_timeout=0.3) as controller:
                await _play(controller, (one, two), chance, settled)
        one.down = two.down = False
        async with start(one, two) as controller:
            if trial := controller.region.changes.flow.trial:
                await controller.post(f"/changes/{trial.generation}/rollback", status=200)
            wanted = rule_set(controller.region.intent, 65000)
            await eventually(lambda: one.rules == two.rules == wanted)
            await eventually(lambda: one.fallback is None and two.fallback is None)
            assert controller.region.intent.vcps["blue"].members == settled


async def _play(
    controller: Controller, servers: tuple[FakeRouteServer, ...], chance: random.Random, settled: set[str]
) -> None:
    """Play random steps; `settled` has the members of the pool after the last confirmation."""
    for _ in range(12):
        server, name = chance.choice(servers), f"c{chance.randint(1, 3)}-lan"
        trial = controller.region.changes.flow.trial
        match chance.choice(["change", "change", "try", "try", "confirm", "roll back", "go", "come", "expire"]):
            case "change" | "try" as how:
                query = {"confirm_within": 600} if how == "try" else {}
                path, inside = "/api/v1/vcps/blue/members", name in controller.region.intent.vcps["blue"].members
                if inside:
                    answer = await controller.http.delete(f"{path}/{name}", params=query)
                else:
                    answer = await controller.http.post(path, json={"endpoint": name}, params=query)
                assert answer.is_success is (trial is None), answer.text
                if trial is None and how == "change":
                    settled ^= {name}
            case "confirm" if trial:
                await controller.post(f"/changes/{trial.generation}/confirm", status=200)
                settled.clear()
                settled |= controller.region.intent.vcps["blue"].members
            case "roll back" if trial:
                await controller.post(f"/changes/{trial.generation}/rollback", status=200)
                assert controller.region.intent.vcps["blue"].members == settled
            case "go":
                server.down = True
                server.happen("over")
            case "come":
                server.down = False
            case "expire":
                server.expire()
        await asyncio.sleep(chance.choice([0, 0, 0.05]))
    for server in servers:
        server.down = False
    trial = controller.region.changes.flow.trial
    wanted = rule_set(controller.region.intent, 65000)
    await eventually(lambda: all(server.rules == wanted for server in servers))
    await eventually(lambda: all((server.fallback is None) is (trial is None) for server in servers))
    for fallback in (server.fallback for server in servers):
        assert fallback is None or set(fallback.vcps[0].members) == settled
