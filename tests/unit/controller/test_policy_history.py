"""The earlier policies, the users who applied them, and rollback to one of them."""

import asyncio
from typing import Any

import httpx

from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.policies import HEAD, LABELS, ONE, THREE, TWO, ask, done, pool, pools
from tests.unit.controller.test_tokens import holder


async def test_history_and_going_back(region: Controller) -> None:
    for number, text in enumerate((ONE, TWO, THREE), 1):
        assert (await done(region, "apply", text))["revision"] == number
    assert (await done(region, "apply", THREE))["revision"] == 3  # the same text is not stored again
    commented = await done(region, "apply", f"# thrice\n{THREE}")
    assert commented["revision"] == 4 and commented["generation"] == region.region.intent.generation
    listed = (await region.get("/policy/revisions"))["items"]
    assert [row["revision"] for row in listed] == [4, 3, 2, 1]
    assert [row["in_force"] for row in listed] == [True, False, False, False]
    assert listed[2]["summary"]["join"] == [{"vcp": "blue", "endpoint": "c3-lan"}]
    assert len({row["generation"] for row in listed}) == 4
    assert (await region.get("/policy/revisions/2"))["text"] == TWO
    diff = await region.get("/policy/diff", before=1, after=2)
    assert f"+{TWO.splitlines()[-1]}" in diff["diff"].splitlines()
    rolled = await done(region, "rollback", revision=1)
    assert rolled["revision"] == 5 and pools(region) == {"blue": ["c1-lan", "c2-lan"]}
    row = await region.get("/policy/revisions/5")
    assert (row["text"], row["note"], row["filename"]) == (ONE, "rollback to revision 1", "policy.yaml")
    problem(await ask(region, "rollback"), 409, None, "nothing to go back to")
    assert (await done(region, "rollback", revision=4))["revision"] == 6
    assert (await region.get("/policy"))["text"] == f"# thrice\n{THREE}"
    await region.delete("/endpoints/c3-lan")
    problem(await ask(region, "rollback", revision=2), 422, None, "there is no endpoint 'c3-lan'")
    problem(await ask(region, "rollback", revision=99), 404)


async def test_who_goes_back_twice_does_not_get_back_what_was_gone_back_from(region: Controller) -> None:
    """A second rollback, or one at the same time, does not return to the policy that was rolled back, even after the
    same policy was applied again."""

    async def back() -> tuple[int | None, int | None]:
        found = await region.get("/policy")
        return found["revision"], found["back_to"]

    assert await back() == (None, None)
    for text in (ONE, TWO, THREE):
        await done(region, "apply", text)
    assert await back() == (3, 2)
    await done(region, "rollback")
    assert (await region.get("/policy"))["text"] == TWO and await back() == (4, 1)
    await region.delete("/vcps/blue/members/c1-lan")
    assert (await done(region, "apply", TWO))["revision"] == 5 and await back() == (5, 1), "to mend drift"
    await done(region, "apply", LABELS)
    assert await back() == (6, 5)
    await done(region, "rollback")
    await done(region, "rollback")
    assert (await region.get("/policy"))["text"] == ONE and await back() == (8, None)
    await done(region, "rollback", revision=3)
    assert await back() == (9, 2), "what somebody named is not what was gone back from"

    tag = (await region.get("/policy"))["etag"]
    answers = await asyncio.gather(*(ask(region, "rollback", tag=tag, revision=2) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    assert (await region.get("/policy"))["text"] == TWO and await back() == (10, 1)
    late = await ask(region, "rollback", tag=tag, revision=2)
    problem(late, 412, None, "This was to go back from revision 9: see by the diff whether it is still to be.")


async def test_history_says_who(region: Controller) -> None:
    """The name is in the list, in the event, and in the answer to a user whose request came too late."""
    base = (await done(region, "apply", ONE))["etag"]
    ana, ben = [await holder(region, name, "network-engineer") for name in ("ana", "ben")]

    async def ask_as(who: httpx.AsyncClient, verb: str, text: str = "", **query: Any) -> httpx.Response:
        headers = {"content-type": "application/yaml", "If-Match": query.pop("tag", "*")}
        return await who.post(f"/api/v1/policy/{verb}", content=text, headers=headers, params=query)

    assert (await ask_as(ana, "apply", TWO)).is_success
    problem(await ask_as(ben, "apply", THREE, tag=base), 412, None, "UTC, by token ana). Yours is based on revision 1")
    assert (await ask_as(ben, "rollback", revision=1)).is_success
    assert (await ask_as(ben, "rollback", revision=1)).is_success, "which is in force already, and not kept again"
    told = ["token ben", "token ana", "admin token"]
    assert [row["applied_by"] for row in (await region.get("/policy/revisions"))["items"]] == told
    events = [e for e in (await region.get("/events", limit=1000))["items"] if e["type"] == "policy-applied"]
    assert [e["data"]["by"] for e in events] == told[::-1]
    assert events[-1]["text"].endswith(", by token ben")


async def test_nothing_to_go_back_to(controller: Controller) -> None:
    problem(await ask(controller, "rollback"), 409, None, "nothing to go back to")


async def test_a_policy_on_trial_that_is_rolled_back_is_withdrawn(region: Controller) -> None:
    await done(region, "apply", ONE)
    rules = region.region.intent.policy
    text = f"{HEAD}neighbours:\n  probe_seconds: 30\nvcps:\n{pool('blue', 1, 2)}"
    tried = await done(region, "apply", text, confirm_within=600)
    assert tried["confirm_by"] and region.region.intent.policy.neighbours.probe_seconds == 30
    problem(await ask(region, "apply", TWO), 409, None, "on trial")
    await region.post(f"/changes/{tried['generation']}/rollback", status=200)
    assert region.region.intent.policy == rules and (await region.get("/policy"))["text"] == ONE
    row = await region.get("/policy/revisions/2")
    assert row["withdrawn_at"] and not row["in_force"]
