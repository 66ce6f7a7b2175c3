"""API tokens: the permissions of each role, by the API's own description, and the rejection of expired tokens."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from controller.api import streams
from controller.auth import tokens
from controller.auth.uses import Uses
from controller.core.clock import now
from controller.core.roles import TABLE, Role, lacking, looks
from controller.core.unavailable import Unavailable
from controller.db import tokens as table
from controller.db.tokens import TokenRow
from controller.server.app import create_app
from controller.settings import Settings
from lab.patience import eventually
from tests.tiers import smoke_first
from tests.unit.controller.conftest import PLAIN, Controller, Start, problem

DOCUMENT = create_app(Settings()).openapi()
OPERATIONS = [
    (method.upper(), path, tuple(operation["tags"]))
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if {"operator": []} in operation.get("security", [])
]
KEY = {"Idempotency-Key": "once"}


async def holder(controller: Controller, name: str, role: str = "viewer", **more: object) -> httpx.AsyncClient:
    """Return a client with a new token."""
    made = await controller.post("/tokens", {"name": name, "role": role, **more})
    headers = {"Authorization": f"Bearer {made['token']}"}
    client = httpx.AsyncClient(
        base_url=controller.http.base_url, headers=headers, trust_env=False, timeout=10, verify=PLAIN
    )
    return await controller.stack.enter_async_context(client)


def filled(path: str) -> str:
    """Return a path with names that do not exist."""
    return (
        path.replace("{id}", "99")
        .replace("{generation}", "99")
        .replace("{revision}", "99")
        .replace("{", "")
        .replace("}", "")
    )


def test_the_table_knows_every_part_of_the_api() -> None:
    assert {tag for _, _, tags in OPERATIONS for tag in tags} == set(TABLE)
    assert all(tags for _, _, tags in OPERATIONS)


@given(st.sampled_from(OPERATIONS))
def test_each_role_may_what_the_one_before_may(operation: tuple[str, str, tuple[str, ...]]) -> None:
    may = [lacking(role, *operation) is None for role in Role if role is not Role.TENANT]
    assert all(more or not less for less, more in pairwise(may)) and may[-1]
    assert looks(*operation[:2]) or not may[0], "a viewer changes nothing"


@given(st.sampled_from(Role), st.sampled_from(("GET", "POST", "DELETE")), st.text())
def test_what_the_table_does_not_know_is_for_admins(role: Role, method: str, path: str) -> None:
    assert (lacking(role, method, path, ["something new"]) is None) == (role is Role.ADMIN)
    assert (lacking(role, method, path, []) is None) == (role is Role.ADMIN)


@pytest.mark.parametrize("role", smoke_first(2, dict.fromkeys((Role.TENANT, Role.VIEWER, *Role))))
async def test_every_operation_asks_for_the_role(controller: Controller, role: Role) -> None:
    """Nothing exists and no request is complete: a permitted caller gets an error about that, any other is refused
    first."""
    client = await holder(controller, "somebody", role, tenant="nobody" if role is Role.TENANT else None)
    for method, path, tags in OPERATIONS:
        if path.endswith("/watch"):
            continue
        answer = await client.request(method, filled(path))
        if lacking(role, method, path, tags):
            problem(answer, 403, reason=f"token somebody: the role {role} may not")
        elif role is Role.TENANT:
            assert answer.status_code in (200, 403, 404), "it has nothing, and may ask for nothing else"
        else:
            assert answer.status_code not in (401, 403), (method, path, answer.text)


async def test_a_refusal_says_what_is_lacking(controller: Controller) -> None:
    client = await holder(controller, "dash")
    answer = await client.post("/api/v1/vcps", json={"name": "blue"})
    problem(answer, 403, reason="token dash: the role viewer may not change vcps; that takes network-engineer or more.")
    assert not controller.region.intent.vcps
    problem(await client.get("/api/v1/tokens"), 403, reason="may not look at tokens; that takes admin.")


async def test_a_secret_is_shown_once_and_kept_nowhere(controller: Controller) -> None:
    body = {"name": "dash", "role": "viewer"}
    first = await controller.http.post("/api/v1/tokens", json=body, headers=KEY)
    secret = first.json()["token"]
    again = await controller.http.post("/api/v1/tokens", json=body, headers=KEY)
    assert again.json() == first.json() | {"token": None}
    assert secret not in (await controller.http.get("/api/v1/tokens")).text
    assert secret not in (await controller.http.get("/api/v1/events")).text
    async with controller.region.database.read() as session:
        (row,) = await session.scalars(select(TokenRow))
        assert secret not in repr(vars(row))
        kept = await session.scalars(text("SELECT body FROM idempotency"))
        assert all(secret.encode() not in bytes(one) for one in kept)


async def test_a_revoked_token_lets_nobody_in(controller: Controller) -> None:
    client = await holder(controller, "ana", "operator")
    device = {"name": "m1", "mac": "02:00:5e:00:00:01"}
    assert (await client.post("/api/v1/devices", json=device, headers=KEY)).status_code == 201
    await controller.delete("/tokens/ana", 204)
    problem(await client.get("/api/v1/devices"), 401)
    problem(await client.post("/api/v1/devices", json=device, headers=KEY), 401)  # nor hears what was said before
    problem(await controller.http.delete("/api/v1/tokens/ana"), 409, reason="was revoked at")
    problem(await controller.http.delete("/api/v1/tokens/bob"), 404)
    (shown,) = (await controller.get("/tokens"))["items"]
    assert (shown["state"], shown["role"]) == ("revoked", "operator")
    await controller.refused(409, "/tokens", {"name": "ana", "role": "admin"}, "name", "a name is given once")


async def test_a_token_ends_with_its_time(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await holder(controller, "ana", seconds=60)
    assert (await client.get("/api/v1/devices")).status_code == 200
    monkeypatch.setattr(tokens, "now", lambda: now() + timedelta(seconds=61))
    problem(await client.get("/api/v1/devices"), 401)


async def test_a_stream_ends_with_its_token(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LOOK", 0.0)
    client = await holder(controller, "ana")
    heard = []
    async with (
        asyncio.timeout(5),
        client.stream("GET", "/api/v1/events", headers={"Accept": "text/event-stream"}) as stream,
    ):
        lines = stream.aiter_lines()
        assert await anext(lines) == ": weft"
        await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
        while "m1" not in await anext(lines):
            pass
        await controller.delete("/tokens/ana", 204)
        heard = [line async for line in lines]
    assert not any("revoked" in line for line in heard), "the stream was to end, not to go on"


async def test_another_controller_knows_of_a_revocation_at_once(start: Start, database_url: str) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("one controller only")
    async with start(replica="one") as one, start(replica="two") as two:
        client = await holder(one, "ana")
        client.base_url = two.http.base_url
        assert (await client.get("/api/v1/devices")).status_code == 200
        await one.delete("/tokens/ana", 204)
        problem(await client.get("/api/v1/devices"), 401)


async def test_tokens_do_without_the_admin_token(start: Start) -> None:
    async with start() as controller:
        client = await holder(controller, "ana")
        secret = client.headers["Authorization"]
    async with start(admin_token_file=None) as controller:
        headers = {"Authorization": secret}
        assert (await controller.http.get("/api/v1/vcps", headers=headers)).status_code == 200
        problem(await controller.http.get("/api/v1/vcps"), 403, reason="unix socket only")


def test_the_page_has_the_table() -> None:
    """docs/operate/access.md has the table of the code."""
    page = (Path(__file__).parents[3] / "docs" / "operate" / "access.md").read_text()
    rows = [f"| {tag} | {least.look} | {least.change} |" for tag, least in TABLE.items()]
    written = [line for line in page.splitlines() if line.startswith("| ") and line.count("|") == 4]
    assert sorted(written[1:]) == sorted(rows)


async def test_the_last_use_is_noted_now_and_then(controller: Controller) -> None:
    client = await holder(controller, "dashboard")
    uses = controller.region.auth.tokens.uses
    await controller.post("/tokens", {"name": "forgotten", "role": "viewer"})

    async def used() -> dict[str, datetime | None]:
        await uses.write()
        found = (await controller.get("/tokens"))["items"]
        return {one["name"]: one["used_at"] and datetime.fromisoformat(one["used_at"]) for one in found}

    assert await used() == {"dashboard": None, "forgotten": None}
    before = now()
    answers = await asyncio.gather(*(client.get("/api/v1/cloudlets") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    first = (await used())["dashboard"]
    assert first is not None and before <= first <= now()
    await client.get("/api/v1/cloudlets")
    assert (await used())["dashboard"] == first, "one write stands for many requests"
    uses.every = timedelta(0)
    assert (await client.post("/api/v1/vcps", json={"name": "blue"})).status_code == 403
    later = (await used())["dashboard"]
    assert later is not None and later > first and (await used())["forgotten"] is None
    entries = (await controller.get("/audit", who="token dashboard"))["items"]
    assert [(one["method"], one["status"]) for one in entries] == [("POST", 403)], "a use is no change of its own"


async def test_a_reader_does_not_wait_for_another_change(controller: Controller) -> None:
    """A first use is to be noted, and a change that takes long has the lock of all writers."""
    client = await holder(controller, "dashboard")

    async def used() -> object:
        return (await controller.get("/tokens"))["items"][0]["used_at"]

    async with controller.region.database.write() as session:
        await session.execute(text("UPDATE tokens SET role = role"))
        assert (await client.get("/api/v1/cloudlets")).status_code == 200
        assert await used() is None
    await eventually(used)


async def test_a_use_is_noted_again_if_the_database_was_away(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, at = controller.region.database, now()
    await holder(controller, "dashboard")
    uses = Uses(database, timedelta(minutes=10), table.use)

    async def used() -> object:
        return (await controller.get("/tokens"))["items"][0]["used_at"]

    def away() -> None:
        raise Unavailable("it is away")

    with monkeypatch.context() as patch:
        patch.setattr(database, "write", away)
        uses.note("dashboard", None, at)
        await uses.write()
    await uses.write()
    assert await used() is None
    uses.note("dashboard", None, at)
    await uses.write()
    assert await used() is not None
