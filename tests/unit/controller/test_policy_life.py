"""The life of a policy at the controller: planned, applied, followed, drifted, and loaded at the start."""

import asyncio
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.pool import QueuePool

from controller.api.applying import Application, Look
from controller.core import lease_hits, policies
from controller.core.clock import now
from controller.db import pairs
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.db.policies import PolicyRow
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.policies import HEAD, LABELS, ONE, THREE, TWO, ask, done, pool, pools


@pytest.mark.parametrize("verb", ["check", "test", "plan", "apply"])
async def test_no_transaction_waits_for_a_policy_to_be_worked_out(
    region: Controller, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large region the computation takes longer than PostgreSQL lets a transaction be idle."""
    database, worked_out = region.region.database, policies.apply
    pools = [engine.pool for engine in (database.readers, database.writer)]

    def apply(*arguments: Any, **options: Any) -> Any:
        deadline = time.monotonic() + 5
        while any(isinstance(pool, QueuePool) and pool.checkedout() for pool in pools):  # by other requests
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return worked_out(*arguments, **options)

    monkeypatch.setattr(policies, "apply", apply)
    await done(region, verb, ONE)


async def lease(controller: Controller, device: str, kind: Any, endpoint: str) -> None:
    """Write a lease as if the device's MD or VM had asked for an address there."""
    async with controller.region.database.write() as session:
        pair = await pairs.of(session, endpoint, device) or await pairs.give(session, endpoint, device, 0)
        number = controller.region.intent.endpoints[endpoint].prefix.split(".")[1]
        address = f"10.{number}.0.{2 if kind == 'md' else 3}"
        until = now() + timedelta(hours=1)
        row = LeaseRow(pair=pair.id, endpoint=endpoint, device=device, kind=kind, address=address)
        row.granted_at, row.expires_at = now(), until
        session.add(row)


async def test_a_plan_changes_nothing_and_its_application_does_just_that(
    region: Controller, route_server: FakeRouteServer
) -> None:
    before = region.region.intent
    planned = await done(region, "plan", ONE)
    assert region.region.intent is before and (await region.get("/policy"))["text"] == ""
    assert planned["plan"]["create"] == ["blue"] and len(planned["plan"]["join"]) == 2
    assert planned["change"]["dry_run"] and planned["change"]["route_servers"][0]["route_server"] == "rs1"
    assert (planned["revision"], planned["etag"], planned["generation"]) == (None, '"0-0"', before.generation)
    applied = await done(region, "apply", ONE, tag=planned["etag"], planned=planned["planned"])
    assert applied["plan"] == planned["plan"] and applied["revision"] == 1
    assert pools(region) == {"blue": ["c1-lan", "c2-lan"]}
    again = await done(region, "plan", ONE)
    assert not any(again["plan"].values()) and again["etag"] == applied["etag"]


async def test_a_plan_that_does_not_hold_any_more_is_told_so(region: Controller) -> None:
    planned = (await done(region, "plan", ONE))["planned"]
    await region.cloudlet("c4", 4)  # does not concern the plan
    await done(region, "apply", ONE, planned=planned, dry_run=True)
    await region.post("/vcps", {"name": "blue"})
    late = await ask(region, "apply", ONE, planned=planned)
    problem(late, 409, None, f"The plan made at generation {planned.partition('-')[0]} does not hold any more")
    assert pools(region) == {"blue": []}


async def test_of_two_operators_at_once_one_gets_the_difference(region: Controller) -> None:
    base = (await done(region, "apply", ONE))["etag"]
    first, second = await asyncio.gather(ask(region, "apply", TWO, base), ask(region, "apply", THREE, base))
    assert sorted([first.status_code, second.status_code]) == [200, 412]
    late, other = (second, TWO) if second.status_code == 412 else (first, THREE)
    problem(late, 412, None, "Yours is based on revision 1: bring the changes of the diff into yours")
    diff = late.json()["diff"].splitlines()
    assert diff[:2] == ["--- revision 1", "+++ revision 2"]
    added = [line[1:] for line in diff[2:] if line.startswith("+")]
    assert added and all(line in other.splitlines() for line in added)
    assert (await region.get("/policy"))["text"] == other
    stranger = await ask(region, "apply", ONE, '"beef-1"')
    problem(stranger, 412, None, "based on one that was never in force here")
    assert "diff" not in stranger.json()


async def test_a_device_is_not_cut_off_from_its_vm_unless_somebody_says_so(region: Controller) -> None:
    await done(region, "apply", TWO)
    await region.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await lease(region, "m1", "md", "c1-lan")
    await lease(region, "m1", "vm", "c3-lan")
    planned = await done(region, "plan", THREE)
    cut = planned["disconnects"]
    assert [(one["device"], one["md"], one["vm"], one["vcp"]) for one in cut] == [("m1", "c1-lan", "c3-lan", "blue")]
    assert (cut[0]["at"]["line"], cut[0]["at"]["field"]) == (4, "vcps.blue.members")
    for rehearsed in (False, True):
        answer = await ask(region, "apply", THREE, dry_run=rehearsed)
        problem(answer, 409, "vcps.blue.members", "would cut 1 device off from a running VM")
    assert "c3-lan" in pools(region)["blue"]
    await done(region, "apply", TWO + pool("red", 3))  # c1 and c2 still share blue
    applied = await done(region, "apply", f"{HEAD}vcps: {{}}\n", allow_disconnect=True)
    assert applied["disconnects"][0]["at"]["line"] == 2


async def test_a_rule_that_drops_all_of_it_cuts_off_as_well(region: Controller) -> None:
    await done(region, "apply", TWO)
    await region.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await lease(region, "m1", "md", "c1-lan")
    await lease(region, "m1", "vm", "c3-lan")
    ssh, apart = (
        "    - {name: no-ssh, action: drop, ports: [22]}\n",
        "    - {name: apart, action: drop, from: [c3-lan]}\n",
    )
    assert (await done(region, "plan", f"{TWO}access:\n  blue:\n{ssh}"))["disconnects"] == []
    closed = f"{TWO}access:\n  blue:\n{ssh}{apart}"
    planned = await done(region, "plan", closed)
    (cut,) = planned["disconnects"]
    at = cut.pop("at")
    why = "by rule 'apart' of blue, nothing would get from c3-lan to c1-lan"
    assert cut == {"device": "m1", "md": "c1-lan", "vm": "c3-lan", "vcp": "blue", "rule": "apart", "why": why}
    assert at["message"] == f"device m1 at c1-lan would be cut off from its VM at c3-lan: {why}"
    assert (at["line"], at["field"]) == (8, "access.blue[1]")
    for rehearsed in (False, True):
        answer = await ask(region, "apply", closed, planned=planned["planned"], dry_run=rehearsed)
        problem(answer, 409, "access.blue[1]", "would cut 1 device off from a running VM")
    assert not region.region.intent.policy.access
    applied = await done(region, "apply", closed, allow_disconnect=True, planned=planned["planned"])
    assert [one["rule"] for one in applied["disconnects"]] == ["apart"]
    assert (await done(region, "plan", f"{closed}    - {{name: more, action: drop}}\n"))["disconnects"] != []
    assert (await done(region, "plan", closed.replace(ssh, "")))["disconnects"] == []  # the device is cut off already
    assert (await done(region, "plan", THREE))["disconnects"][0]["rule"] is None  # nor would permitted traffic pass


async def test_leases_that_another_address_plan_hits_are_named(
    region: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search runs in a thread of its own: a large LAN's leases block no other request."""
    threads, found = set(), lease_hits.hits

    def hits(*arguments: Any) -> Any:
        threads.add(threading.current_thread())
        return found(*arguments)

    monkeypatch.setattr(lease_hits, "hits", hits)
    await region.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await lease(region, "m1", "md", "c1-lan")
    text = f"{HEAD}addresses:\n  lans:\n    c1-lan:\n      exclusions: [10.1.0.2-10.1.0.9]\nvcps: {{}}\n"
    planned = await done(region, "plan", text)
    assert [(one["device"], one["address"], one["why"]) for one in planned["leases"]] == [
        ("m1", "10.1.0.2", "10.1.0.2 to 10.1.0.9 is not given out")
    ]
    assert [said["path"] for said in planned["plan"]["settings"]] == ["addresses.lans.c1-lan.exclusions"]
    before = region.region.intent.generation
    applied = await done(region, "apply", text)
    assert applied["generation"] == before + 1 and region.region.intent.policy.addresses.lans
    assert threads and threading.current_thread() not in threads


async def test_a_lease_that_is_hit_since_the_plan_is_not_what_was_planned(
    region: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(region, "apply", TWO)
    text = f"{TWO}addresses:\n  lans:\n    c1-lan:\n      exclusions: [10.1.0.2-10.1.0.9]\n"
    planned = await done(region, "plan", text)
    assert (await done(region, "plan", text))["planned"] == planned["planned"] and planned["leases"] == []
    await region.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    await done(region, "apply", text, planned=planned["planned"], dry_run=True)
    await lease(region, "m1", "md", "c1-lan")
    problem(await ask(region, "apply", text, planned=planned["planned"]), 409, None, "does not hold any more")
    assert not region.region.intent.policy.addresses.lans
    again = await done(region, "plan", text)
    assert len(again["leases"]) == 1 and again["planned"] != planned["planned"]
    await done(region, "apply", text, planned=again["planned"], dry_run=True)
    foresee = Application.foresee

    async def foresee_too_early(self: Application, database: Database) -> Look:
        found = await foresee(self, database)
        await lease(region, "m1", "vm", "c1-lan")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Application, "foresee", foresee_too_early)
        problem(await ask(region, "apply", text, planned=again["planned"]), 409, None, "does not hold any more")
    last = await done(region, "plan", text)
    assert len(last["leases"]) == 2
    await done(region, "apply", text, planned=last["planned"])


async def test_other_agents_and_filters_than_were_planned_are_found_out(region: Controller) -> None:
    await done(region, "apply", TWO)
    closed = f"{TWO}access:\n  blue:\n    - {{name: no-ssh, action: drop, to: [c3-lan], ports: [22]}}\n"
    smaller, ruled = await done(region, "plan", THREE), await done(region, "plan", closed)
    await region.post("/vcps", {"name": "byhand"})
    for number in (1, 3):
        await region.post("/vcps/byhand/members", {"endpoint": f"c{number}-lan"})
    later = await done(region, "plan", THREE)
    told = [[agent["cloudlet"] for agent in plan["change"]["agents"]] for plan in (smaller, later)]
    assert told == [["c1", "c2", "c3"], ["c2", "c3"]] and later["plan"] == smaller["plan"]
    problem(await ask(region, "apply", THREE, planned=smaller["planned"]), 409, None, "does not hold any more")
    await done(region, "apply", closed, planned=ruled["planned"], dry_run=True)  # the same agents and filters as before
    await region.delete("/endpoints/c3-lan")
    await region.post("/endpoints", {"name": "c3-lan", "cloudlet": "c3", "prefix": "10.9.0.0/24"})
    later = await done(region, "plan", closed)
    assert later["plan"] == ruled["plan"] and later["filters"] != ruled["filters"]
    problem(await ask(region, "apply", closed, planned=ruled["planned"]), 409, None, "does not hold any more")


async def test_a_policy_whose_tests_fail_is_refused_everywhere(region: Controller) -> None:
    promise = "tests:\n  - name: apart\n    isolated: {from: c1-lan, to: c2-lan}\n"
    text = ONE + promise
    tested = await done(region, "test", text)
    assert not tested["ok"] and tested["tests"][0]["outcome"] == "failed"
    for verb in ("check", "plan", "apply"):
        answer = await ask(region, verb, text)
        problem(answer, 422, None, "test 'apart' failed")
        assert answer.json()["errors"][0]["line"] == 6
    assert (await done(region, "test", f"{HEAD}vcps:\n{pool('blue', 1)}{promise}"))["ok"]
    await done(region, "apply", f"{HEAD}vcps:\n{pool('blue', 1)}{promise}")
    problem(await ask(region, "apply", text), 422)


async def test_the_inventory_is_followed_in_the_same_change(region: Controller, route_server: FakeRouteServer) -> None:
    await done(region, "apply", LABELS + pool("blue", 1))
    assert pools(region) == {"blue": ["c1-lan"], "turin": []}
    answer = await region.http.patch("/api/v1/cloudlets/c1", json={"labels": {"city": "turin"}})
    assert answer.status_code == 200 and answer.json()["followed"]["join"] == [{"vcp": "turin", "endpoint": "c1-lan"}]
    assert pools(region)["turin"] == ["c1-lan"]
    rehearsed = await region.http.patch("/api/v1/cloudlets/c1", json={"labels": {"city": None}}, params={"dry_run": 1})
    assert rehearsed.json()["followed"]["leave"] and pools(region)["turin"] == ["c1-lan"]
    made = await region.post(
        "/cloudlets", {"name": "c4", "pe": "vpls", "vtep": "192.0.2.4", "labels": {"city": "turin"}}
    )
    await region.post("/endpoints", {"name": "c4-lan", "cloudlet": "c4", "prefix": "10.4.0.0/24"})
    assert pools(region)["turin"] == ["c1-lan"]
    assert (await done(region, "plan", LABELS))["plan"]["waiting"][0]["why"] == "its cloudlet c4 is invited"
    await region.enrol("c4", made["token"])
    assert pools(region)["turin"] == ["c1-lan", "c4-lan"]
    await region.post("/cloudlets/c4/drain", status=200)
    await region.post("/cloudlets/c4/approve", status=200)
    assert pools(region)["turin"] == ["c1-lan", "c4-lan"]
    said = [e["text"] for e in (await region.get("/events", limit=1000))["items"] if e["type"] == "policy-followed"]
    assert "approve c4: by the policy, c4-lan joins turin" in said
    await eventually(lambda: route_server.rules.generation == region.region.intent.generation)
    assert {v.name: v.members for v in route_server.rules.vcps}["turin"] == ["c1-lan", "c4-lan"]
    for wrong in ({"latitude": 45}, {"labels": {"x": 1}}, {"vtep": None}):
        assert (await region.http.patch("/api/v1/cloudlets/c1", json=wrong)).status_code == 422


async def test_removing_a_cloudlet_splits_a_pool_and_the_rehearsal_says_so(region: Controller) -> None:
    for number in (1, 2, 3):
        place = {"latitude": 45 + number * 0.008, "longitude": 7}
        assert (await region.http.patch(f"/api/v1/cloudlets/c{number}", json=place)).is_success
    await done(region, "apply", f"{HEAD}vcps:\n  metro:\n    automatic: proximity\n")
    assert pools(region) == {"metro-1": ["c1-lan", "c2-lan", "c3-lan"]}
    told = await region.post("/cloudlets/c2/drain", status=200, dry_run=True)
    assert told["followed"]["splits"] == [{"vcp": "metro-1", "parts": ["metro-1", "metro-2"]}]
    assert pools(region) == {"metro-1": ["c1-lan", "c2-lan", "c3-lan"]}
    await region.post("/cloudlets/c2/drain", status=200)
    assert pools(region) == {"metro-1": ["c1-lan"], "metro-2": ["c3-lan"]}


async def test_drift_begins_and_ends(region: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.changes.drift_watch.PAUSE", 0.01)
    await done(region, "apply", ONE)
    await region.delete("/vcps/blue/members/c1-lan")
    found = await region.get("/policy/drift")
    assert found["drift"] and found["plan"]["join"] == [{"vcp": "blue", "endpoint": "c1-lan"}]
    texts = [one["text"] for one in (await region.get("/doctor"))["differences"]]
    assert any("c1-lan is not in blue, where the policy wants it" in text for text in texts)

    async def types() -> list[str]:
        return [e["type"] for e in (await region.get("/events", limit=1000))["items"] if "drift" in e["type"]]

    async with asyncio.timeout(10):
        while await types() != ["policy-drift"]:  # noqa: ASYNC110 - it is written in the background
            await asyncio.sleep(0.05)
    assert b"weft_policy_drift 1.0" in (await region.http.get("/metrics")).content
    mended = await done(region, "apply", ONE)
    assert mended["revision"] == 2 and mended["plan"]["join"] and pools(region) == {"blue": ["c1-lan", "c2-lan"]}
    async with asyncio.timeout(10):
        while await types() != ["policy-drift", "policy-drift-ended"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert not (await region.get("/policy/drift"))["drift"]


async def test_at_boot_the_last_good_policy_is_used_and_what_is_wrong_is_shouted(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    promise = "tests:\n  - name: together\n    reachable: {from: c1-lan, to: c2-lan}\n"
    async with start() as first:
        for number in (1, 2):
            await first.cloudlet(f"c{number}", number)
        await done(first, "apply", ONE + promise)
        assert (await first.http.get("/readyz")).json()["policy"]
        await first.delete("/vcps/blue/members/c1-lan")  # a promise is broken by hand
    async with start() as second:
        assert second.region.intent.policy.vcps["blue"].members == ("c1-lan", "c2-lan")
        assert "test 'together' failed" in caplog.text
        assert not (await second.http.get("/readyz")).json()["policy"]
        kept = (await second.get("/events", limit=1000))["items"]
        assert [e["text"] for e in kept if e["type"] == "policy-trouble"]
        assert (await second.get("/policy/drift"))["failing"][0]["line"] == 6
        await done(second, "apply", ONE)
        await second.get("/policy/drift")
        assert (await second.http.get("/readyz")).json()["policy"]
        async with second.region.database.write() as session:
            await session.execute(update(PolicyRow).where(PolicyRow.id == 2).values(text="apiVersion: weft/v9\n"))
    async with start() as third:
        assert third.region.intent.policy.tests and "policy revision 2 cannot be read" in caplog.text
        assert (await third.get("/policy/drift"))["trouble"]
        problem(await ask(third, "apply", ONE.replace("c2-lan", "c9-lan")), 422)


async def test_tenants_attach_and_join_where_the_policy_lets_them(region: Controller) -> None:
    tenants = "tenants:\n  acme:\n    cloudlets: [c1]\n    vcps: [blue]\n    consent: false\n"
    await done(region, "apply", f"{HEAD}vcps:\n{pool('blue')}{pool('red')}{tenants}")
    lan = {"name": "acme-lan", "cloudlet": "c2", "prefix": "10.9.0.0/24", "tenant": "acme"}
    await region.refused(409, "/endpoints", lan, "tenant", "does not let tenant acme attach at c2: it may be at c1")
    lan["cloudlet"] = "c1"
    await region.refused(409, "/endpoints", lan | {"tenant": "acne"}, "tenant", "did you mean 'acme'?")
    assert (await region.post("/endpoints", lan))["tenant"] == "acme"
    joining = {"endpoint": "acme-lan"}
    await region.refused(409, "/vcps/red/members", joining, "endpoint", "which the policy does not let into red")
    await region.post("/vcps/blue/members", joining)
    stricter = f"{HEAD}vcps:\n{pool('red')}tenants:\n  acme:\n    cloudlets: [c2]\n    consent: false\n"
    planned = await done(region, "plan", stricter)
    assert [w["field"] for w in planned["warnings"]] == ["tenants.acme"]
    paths = [said["path"] for said in planned["plan"]["settings"]]
    assert paths == ["tenants.acme.cloudlets", "tenants.acme.vcps"]


async def test_a_selector_that_matches_nothing_is_warned_of_at_its_place(region: Controller) -> None:
    await region.http.patch("/api/v1/cloudlets/c1", json={"labels": {"city": "turin"}})
    for text, said in (
        (LABELS.replace("city", "citty"), "no cloudlet has a label 'citty': did you mean 'city'?"),
        (
            LABELS.replace("{city: turin}", "{city: turim}"),
            "no label 'city' has the value 'turim': did you mean 'turin'?",
        ),
    ):
        checked = await done(region, "check", text)
        (warning,) = checked["warnings"]
        assert warning["message"].endswith(said) and (warning["line"], warning["field"]) == (4, "vcps.turin.select")
        for verb in ("check", "plan", "apply"):
            problem(await ask(region, verb, text, strict=True), 422, "vcps.turin.select", said)
    assert not (await done(region, "check", LABELS))["warnings"]
