"""Consent of tenants: an endpoint whose tenant must consent is in no pool and no rule set until the tenant has
consented."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core import consents, edits
from controller.core.affected import concerned
from controller.core.desired import Fabric, desired, tunnels
from controller.core.destinations import authorise
from controller.core.following import followed
from controller.core.intent import CloudletState as Life
from controller.core.intent import Endpoint, Intent
from controller.core.membership import settled
from controller.core.policy.model import PolicyVcp, Rules, Tenant
from controller.core.refusals import Refused
from controller.core.roles import Caller, Role
from controller.core.rulesets import apply, operations, rule_set
from controller.core.saga import MoveEnd, Plan
from controller.wire.desired import Speaker
from tests.unit.agents.moves.region import MACHINE
from tests.unit.controller.conftest import Controller, Start, eventually, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.regions import STEPS, founded, lan, step
from tests.unit.controller.test_tokens import holder

FABRIC = Fabric(65000, (Speaker(name="rs1", address="192.0.2.200", asn=65000),))
ACME = Caller("token acme-portal", Role.TENANT, "acme")
ASKS = {"acme": Tenant("acme"), "beta": Tenant("beta", consent=False)}
POLICIES = {
    "none": Rules(),
    "asks": Rules(tenants=ASKS),
    "chooses": Rules(vcps={"p0": PolicyVcp("p0", select={"tenant": frozenset({"acme", "beta"})})}, tenants=ASKS),
    "unasked": Rules(vcps={"p0": PolicyVcp("p0", select={})}, tenants={"acme": Tenant("acme", consent=False)}),
}

_name = st.builds("c{}-lan{}".format, st.integers(0, 4), st.integers(0, 1))
_owned = st.builds(
    lambda number, tenant: replace(lan(number, 0, f"10.{number}.0.0/24"), tenant=tenant),
    st.integers(0, 4),
    st.sampled_from(["acme", "beta", None]),
)
EDITS = st.one_of(
    st.tuples(st.just("add_endpoint"), _owned),
    st.tuples(st.just("give"), _name),
    st.tuples(st.just("give"), _name),
    st.tuples(st.just("withdraw"), _name),
    st.tuples(st.just("policy"), st.sampled_from(sorted(POLICIES))),
    STEPS.map(tuple),
)
"""Edits of which all other steps are one alternative; otherwise nearly all edits would be other steps."""


def edited(intent: Intent, edit: tuple[Any, ...]) -> Intent:
    """Apply an edit, and the policy to its result, as the controller does."""
    try:
        match edit:
            case "give", name:
                after = consents.give(intent, name, ACME)
            case "withdraw", name:
                after = consents.withdraw(intent, name)
            case "policy", name:
                return settled(intent.but(policy=POLICIES[name]), {}).intent
            case _:
                after = step(intent, edit)
    except Refused:
        return intent
    return followed(intent, after, {}).intent


def held(intent: Intent) -> set[str]:
    """Return the endpoints without consent by a second model, directly from the policy's words."""
    asking = {tenant.name for tenant in intent.policy.tenants.values() if tenant.consent}
    return {e.name for e in intent.endpoints.values() if e.tenant in asking and e.consented_by is None}


@given(st.lists(EDITS, max_size=30), st.sampled_from(sorted(POLICIES)))
def test_what_is_held_back_is_nowhere(steps: Sequence[tuple[Any, ...]], first: str) -> None:
    intent = edited(founded(), ("policy", first))
    rules = rule_set(intent, 65000)
    for edit in steps:
        after = edited(intent, edit)
        back = held(after)
        assert back == {name for name in after.endpoints if after.held(name)}
        assert not back & {member for vcp in after.vcps.values() for member in vcp.members}
        ops = operations(intent, after, 65000)
        rules = apply(rules, ops, 0)
        assert rules == rule_set(after, 65000)
        assert not back & {endpoint.name for endpoint in rules.endpoints}
        was, now = (
            {c.name: desired(i, replace(c, version=0), FABRIC) for c in i.cloudlets.values()} for i in (intent, after)
        )
        said = {one.name for document in now.values() for one in document.endpoints}
        speak = {e.name for e in after.endpoints.values() if after.cloudlets[e.cloudlet].speaks}
        assert said == speak - back
        assert concerned(intent, after) == {n for n in was.keys() | now.keys() if was.get(n) != now.get(n)}
        assert not back & {name for cloudlet in after.cloudlets for name in tunnels(after, cloudlet)}
        intent = after


@given(st.lists(EDITS, max_size=20), st.sampled_from(sorted(POLICIES)))
def test_who_is_cut_off_is_who_was_in_force_and_would_be_held_back(steps: list[tuple[Any, ...]], name: str) -> None:
    intent = founded()
    for edit in steps:
        intent = edited(intent, edit)
    found = consents.cut_off(intent, POLICIES[name])
    assert set(found) == held(intent.but(policy=POLICIES[name])) - held(intent)
    counted = consents.counted(intent, found, "token ana")
    assert not consents.cut_off(counted, POLICIES[name])
    still = held(intent)
    assert held(counted.but(policy=POLICIES[name])) <= still, "only what was in force is counted"


def one_of(tenant: str | None, rules: Rules) -> Intent:
    intent = founded()
    return edits.add_endpoint(intent, replace(lan(0, 0, "10.0.0.0/24"), tenant=tenant), []).but(policy=rules)


def test_a_consent_joins_the_pools_of_the_policy_and_its_end_leaves_them() -> None:
    intent = settled(one_of("acme", POLICIES["chooses"]), {})
    assert intent.absent[0].waits and intent.absent[0].why == "tenant acme has not consented to c0-lan0"
    given_ = edited(intent.intent, ("give", "c0-lan0"))
    assert given_.vcps["p0"].members == {"c0-lan0"}
    assert edited(given_, ("withdraw", "c0-lan0")).vcps["p0"].members == frozenset()


def test_what_is_made_anew_was_never_consented_to() -> None:
    intent = edited(one_of("acme", POLICIES["asks"]), ("give", "c0-lan0"))
    assert not intent.held("c0-lan0")
    intent = edits.remove_endpoint(intent, "c0-lan0")
    again = edits.add_endpoint(intent, replace(lan(0, 0, "10.9.0.0/24"), tenant="acme"), [])
    assert again.held("c0-lan0")


def test_nobody_moves_a_vm_to_what_is_held_back() -> None:
    intent = one_of("acme", POLICIES["asks"])
    intent = edits.add_endpoint(intent, replace(lan(1, 0, "10.1.0.0/24"), tenant="acme"), [])
    source, destination = (MoveEnd(f"c{n}", f"c{n}-lan0", f"192.0.2.{n + 1}") for n in (0, 1))
    plan = Plan("m", MACHINE, "d", source, destination, old="10.0.0.2")
    with pytest.raises(Refused, match="tenant acme has not consented to c1-lan0"):
        authorise(intent, plan)
    authorise(edited(intent, ("give", "c1-lan0")), plan)


def test_a_draining_cloudlet_stays_drained_whoever_consents() -> None:
    intent = edits.drain(one_of("acme", POLICIES["chooses"]), "c0")
    assert intent.cloudlets["c0"].state is Life.DRAINING
    assert edited(intent, ("give", "c0-lan0")).vcps["p0"].members == frozenset()


@pytest.mark.parametrize(
    ("tenant", "first", "verb", "said"),
    [
        (None, (), "give", "to no tenant"),
        (None, (), "withdraw", "to no tenant"),
        ("acme", ("give",), "give", "consented to c0-lan0 already, by token acme-portal"),
        ("acme", (), "withdraw", "has not consented"),
    ],
)
def test_what_is_refused(tenant: str | None, first: tuple[str, ...], verb: str, said: str) -> None:
    intent = one_of(tenant, POLICIES["asks"])
    for one in first:
        intent = edited(intent, (one, "c0-lan0"))
    with pytest.raises(Refused, match=said):
        consents.give(intent, "c0-lan0", ACME) if verb == "give" else consents.withdraw(intent, "c0-lan0")


def test_it_says_in_whose_name() -> None:
    endpoint: Endpoint = replace(lan(0, 0, "10.0.0.0/24"), tenant="acme")
    assert consents.signature(ACME, endpoint) == "token acme-portal"
    admin = Caller("admin token", Role.ADMIN)
    assert consents.signature(admin, endpoint) == "admin token, for tenant acme"


POLICY = """apiVersion: weft/v1
vcps:
  blue: {members: [c1-lan, c2-lan]}
tenants:
  acme: {}
  other: {consent: false}
"""
OPEN = POLICY.replace("acme: {}", "acme: {consent: false}")


async def put(controller: Controller, text: str, verb: str = "apply", **query: Any) -> httpx.Response:
    headers = {"content-type": "application/yaml"}
    return await controller.http.post(f"/api/v1/policy/{verb}", content=text, headers=headers, params=query)


async def applied(controller: Controller, text: str, **query: Any) -> Any:
    answer = await put(controller, text, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def shown(controller: Controller, name: str = "c1-lan") -> Any:
    return await controller.get(f"/endpoints/{name}")


def members(server: FakeRouteServer) -> set[str]:
    return {member for vcp in server.rules.vcps for member in vcp.members}


async def test_an_endpoint_waits_for_its_tenant(controller: Controller, route_server: FakeRouteServer) -> None:
    """The answer, the rule set and the desired state follow a consent, and after its withdrawal they are as before, on
    both databases."""
    await applied(controller, POLICY.replace("members: [c1-lan, c2-lan]", "select: {}"))
    agent = await controller.agent("c1", 1, tenant="acme")
    await controller.agent("c2", 2)
    assert (await shown(controller))["consent"] == {"state": "waiting", "by": None, "at": None}
    assert members(route_server) == {"c2-lan"} and "c1-lan" not in {e.name for e in route_server.rules.endpoints}
    assert agent.documents[-1].endpoints == []
    await controller.refused(409, "/vcps/blue/members", {"endpoint": "c1-lan"}, "endpoint", "acme has not consented")

    client = await holder(controller, "acme-portal", "tenant", tenant="acme")
    answer = await client.post("/api/v1/endpoints/c1-lan/consent")
    assert answer.status_code == 201 and answer.json()["in_force"], answer.text
    told = (await shown(controller))["consent"]
    assert told["state"] == "given" and told["by"] == "token acme-portal" and told["at"]
    assert members(route_server) == {"c1-lan", "c2-lan"}
    assert [one.name for one in agent.documents[-1].endpoints] == ["c1-lan"]

    answer = await client.delete("/api/v1/endpoints/c1-lan/consent")
    assert answer.status_code == 200 and answer.json()["in_force"], answer.text
    told = (await shown(controller))["consent"]
    assert told["state"] == "withdrawn" and told["by"] is None and told["at"]
    assert members(route_server) == {"c2-lan"} and "c1-lan" not in {e.name for e in route_server.rules.endpoints}
    assert agent.documents[-1].endpoints == []
    assert (await controller.get("/doctor"))["unconsented"] == ["c1-lan"]
    kinds = [one["type"] for one in (await controller.get("/events"))["items"] if one["type"].startswith("consent")]
    assert kinds == ["consent-awaited", "consent-given", "consent-withdrawn"]
    entries = [e for e in (await controller.get("/audit"))["items"] if e["path"].endswith("/consent")]
    assert {entry["who"] for entry in entries} == {"token acme-portal"}


async def test_it_is_kept(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server) as controller:
        await applied(controller, POLICY.replace("members: [c1-lan, c2-lan]", "select: {}"))
        for number in (1, 2):
            await controller.cloudlet(f"c{number}", number, tenant="acme")
        await controller.post("/endpoints/c1-lan/consent")
    async with start(route_server) as controller:
        await eventually(lambda: members(route_server) == {"c1-lan"})
        assert [(await shown(controller, f"c{n}-lan"))["consent"]["state"] for n in (1, 2)] == ["given", "waiting"]
        assert (await shown(controller))["consent"]["by"] == "admin token, for tenant acme"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_only_the_tenant_and_admins_consent(controller: Controller) -> None:
    await applied(controller, POLICY.replace("members: [c1-lan, c2-lan]", "select: {}"))
    await controller.cloudlet("c1", 1, tenant="acme")
    for role, status in (("viewer", 403), ("network-engineer", 403), ("operator", 403), ("admin", 201)):
        client = await holder(controller, role, role)
        answer = await client.post("/api/v1/endpoints/c1-lan/consent")
        assert answer.status_code == status, (role, answer.text)
        if status == 403:
            problem(answer, 403, reason=f"the role {role} may not change consents; that takes admin")
            problem(await client.delete("/api/v1/endpoints/c1-lan/consent"), 403)
            assert controller.region.intent.held("c1-lan")
    other = await holder(controller, "other-portal", "tenant", tenant="other")
    problem(await other.delete("/api/v1/endpoints/c1-lan/consent"), 404)
    entry = next(e for e in (await controller.get("/audit"))["items"] if e["status"] == 201 and "consent" in e["path"])
    assert entry["who"] == "token admin"
    assert entry["after"]["endpoints"]["c1-lan"] == {"consented_by": "token admin, for tenant acme"}
    assert not controller.region.intent.held("c1-lan")


async def test_a_policy_that_begins_to_ask(controller: Controller, route_server: FakeRouteServer) -> None:
    """A plan lists the endpoints in force without consent; the operator has them held back or counted as consented, and
    is refused otherwise."""
    for number in (1, 2, 3):
        await controller.cloudlet(f"c{number}", number, tenant="other" if number == 3 else "acme")
    await applied(controller, OPEN)
    planned = (await put(controller, POLICY, "plan")).json()
    assert planned["unconsented"] == ["c1-lan", "c2-lan"]
    assert {step["endpoint"] for step in planned["plan"]["leave"]} == {"c1-lan", "c2-lan"}
    before = controller.region.intent
    problem(await put(controller, POLICY), 409, "tenants.acme.consent", "hold 2 endpoints back that are in force")
    assert controller.region.intent is before and members(route_server) == {"c1-lan", "c2-lan"}
    again = await put(controller, POLICY, planned=planned["planned"], count_consented=True)
    problem(again, 409, None, "Plan again with count_consented, as this was sent.")

    counted = (await put(controller, POLICY, "plan", count_consented=True)).json()
    assert counted["unconsented"] == ["c1-lan", "c2-lan"] and counted["plan"]["leave"] == []
    again = await put(controller, POLICY, planned=counted["planned"], hold_back=True)
    problem(again, 409, None, "Plan again without count_consented, as this was sent.")
    await applied(controller, POLICY, count_consented=True, planned=counted["planned"])
    assert members(route_server) == {"c1-lan", "c2-lan"}
    assert (await shown(controller))["consent"]["by"] == "admin token, counted as consented"
    assert (await shown(controller, "c3-lan"))["consent"]["state"] == "unasked"

    client = await holder(controller, "acme-portal", "tenant", tenant="acme")
    assert (await client.delete("/api/v1/endpoints/c1-lan/consent")).status_code == 200
    assert members(route_server) == {"c2-lan"}
    await applied(controller, POLICY + "# again\n", count_consented=True)
    assert (await shown(controller))["consent"]["state"] == "withdrawn", "what is held back is not counted"

    await applied(controller, OPEN)
    assert members(route_server) == {"c1-lan", "c2-lan"}
    await applied(controller, POLICY, hold_back=True)
    assert members(route_server) == {"c2-lan"} and controller.region.intent.held("c1-lan")


async def test_a_withdrawal_does_not_wait_for_a_trial(controller: Controller, route_server: FakeRouteServer) -> None:
    """The withdrawal ends a trial of an hour at once, and the rollback does not bring the endpoint back."""
    await applied(controller, POLICY.replace("members: [c1-lan, c2-lan]", "select: {}"))
    for number in (1, 2, 3):
        await controller.cloudlet(f"c{number}", number, tenant="acme" if number == 1 else None)
    await controller.post("/vcps", {"name": "red"})
    client = await holder(controller, "acme-portal", "tenant", tenant="acme")
    await client.post("/api/v1/endpoints/c1-lan/consent")
    await controller.post("/vcps/red/members", {"endpoint": "c3-lan"}, confirm_within=3600)
    answer = await client.delete("/api/v1/endpoints/c1-lan/consent")
    assert answer.status_code == 200, answer.text
    assert members(route_server) == {"c2-lan", "c3-lan"} and controller.region.changes.flow.trial is None
    assert controller.region.intent.vcps["red"].members == frozenset()
    entries = [e for e in (await controller.get("/audit"))["items"] if e["method"] == "DELETE"]
    assert len(entries) == 1 and "c1-lan" in str(entries[0]), entries
