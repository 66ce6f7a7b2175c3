"""A tenant reads and changes its own objects only: every operation of the API's description is tried with the token of
another tenant, and once more without the check, which must show."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from controller.api import access
from controller.core.roles import PATH, QUERY, SELF, TABLE, TENANTS, Role, lacking
from controller.db import endpoints
from controller.db.schema import metadata
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_tokens import DOCUMENT, OPERATIONS, holder

pytestmark = pytest.mark.slow

QUIET = {"audit", "idempotency", "attendance", "replicas", "reporters", "usage"}
"""Tables without data about any tenant, which change by themselves."""

Operation = tuple[str, str, tuple[str, ...]]


async def two_tenants(controller: Controller) -> dict[str, str]:
    """Create everything that a tenant can have, named after its owner; return the path parameters for the first
    tenant's objects, by name."""
    leases = {}
    for number, tenant in enumerate(("alpha", "beta"), 1):
        lan = f"{tenant}-lan"
        await controller.cloudlet(f"c{number}", number)
        body = {"name": lan, "cloudlet": f"c{number}", "prefix": f"10.10{number}.0.0/24", "tenant": tenant}
        await controller.post("/endpoints", body)
        await controller.post("/vcps", {"name": f"{tenant}-pool"})
        await controller.post(f"/vcps/{tenant}-pool/members", {"endpoint": lan})
        await controller.post("/devices", {"name": f"{tenant}-md", "mac": f"02:00:5e:00:00:0{number}"})
        await controller.post("/reservations", {"endpoint": lan, "device": f"{tenant}-md"})
        lease = await controller.post("/leases", {"endpoint": lan, "device": f"{tenant}-md", "kind": "md"})
        leases[tenant] = str(lease["id"])
        host = {"name": f"{tenant}-printer", "address": f"10.10{number}.0.77"}
        await controller.post(f"/addresses/{lan}/statics", {"hosts": [host]}, 200)
        vm = {
            "name": f"{tenant}-vm",
            "device": f"{tenant}-md",
            "endpoint": lan,
            "driver": "d",
            "image": f"{tenant}-image",
        }
        await controller.post("/vms", vm | {"memory": 1 << 29})
    await controller.cloudlet("c3", 3)
    far = {"name": "alpha-far", "cloudlet": "c3", "prefix": "10.103.0.0/24", "tenant": "alpha"}
    await controller.post("/endpoints", far)
    pool = "alpha-shut: {members: [alpha-lan, alpha-far]}"
    policy = f"apiVersion: weft/v1\nvcps: {{{pool}}}\naccess: {{alpha-shut: [{{name: no, action: drop}}]}}\n"
    headers = {"Content-Type": "application/yaml"}
    applied = await controller.http.post("/api/v1/policy/apply", content=policy, headers=headers)
    assert applied.status_code == 200, applied.text
    known = {"generation": "1", "revision": "1", "endpoint": "alpha-lan", "vcp": "alpha-pool", "serial": "0" * 40}
    known |= {"cloudlet": "c1", "peer": "c2"}
    return known | {"id": leases["alpha"]}


NOUNS = {
    "endpoints": "alpha-lan",
    "addresses": "alpha-lan",
    "vcps": "alpha-pool",
    "devices": "alpha-md",
    "vms": "alpha-vm",
}


def bodies(method: str, path: str) -> Iterator[Any]:
    """Yield the examples of the description, changed to name the first tenant's objects."""
    operation = DOCUMENT["paths"][path][method.lower()]
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    names = [schema.get("$ref", ""), *(one.get("$ref", "") for one in schema.get("anyOf", ()))]
    for name in filter(None, names):
        for example in DOCUMENT["components"]["schemas"][name.rpartition("/")[2]].get("examples", ()):
            said = json.dumps(example).replace("c2-lan", "alpha-lan").replace("c1-lan", "alpha-lan")
            yield json.loads(said.replace("10.1.0.", "10.101.0.").replace('"m1"', '"alpha-md"'))


async def stored(controller: Controller) -> dict[str, list[str]]:
    """Return every row of every table that has data about tenants."""
    async with controller.region.database.read() as session:
        found = {}
        for table in set(metadata.tables) - QUIET:
            rows = (await session.execute(text(f'SELECT * FROM "{table}"'))).mappings()
            found[table] = sorted(repr(dict(row)) for row in rows)
        return found


async def breaches(controller: Controller) -> list[str]:
    """Try all operations; return those by which the second tenant reads or changes the first one's data."""
    known = await two_tenants(controller)
    client = await holder(controller, "beta-portal", "tenant", tenant="beta")
    assert (await client.get("/api/v1/whoami")).is_success
    await controller.region.auth.tokens.uses.write()  # the only thing that a use changes
    found, before = [], await stored(controller)
    for method, path, _ in OPERATIONS:
        if path.endswith("/watch"):
            continue  # a stream; `test_a_tenant_may_only_what_is_listed` has it
        noun = path.removeprefix("/api/v1/").partition("/")[0]
        last = "alpha-printer" if path.endswith("/statics/{name}") else NOUNS.get(noun, "c1")
        url = path.format(**known, name=last) if "{" in path else path
        for query in ({}, {"endpoint": "alpha-lan"}, [("endpoint", "beta-lan"), ("endpoint", "alpha-lan")]):
            for body in [*bodies(method, path), None]:
                answer = await client.request(method, url, params=query, json=body)  # type: ignore[arg-type]
                if answer.is_success and "alpha" in answer.text:
                    found.append(f"{method} {path} tells {answer.text[:200]}")
        if method != "GET":
            after = await stored(controller)
            if after != before:
                found.append(f"{method} {path} changes {[name for name in after if after[name] != before[name]]}")
                before = after
    if await stored(controller) != before:
        found.append("a GET changes something")
    return found


async def test_every_operation_keeps_to_the_callers_own(controller: Controller) -> None:
    assert await breaches(controller) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_without_the_check_it_would_show(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operation that a tenant may call must show, or the test above proves nothing."""
    page = endpoints.page
    monkeypatch.setattr(access, "_keep_to_own", lambda *_: None)
    monkeypatch.setattr(endpoints, "page", lambda session, after, limit, cloudlet, _: page(session, after, limit))
    found = await breaches(controller)
    for method, path in (operation for operation, (where, _) in TENANTS.items() if where != SELF):
        assert any(one.startswith(f"{method} {path} ") for one in found), f"{method} {path}: nothing shows without it"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_without_the_list_it_would_show(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "lacking", lambda *_: None)
    monkeypatch.setattr(access, "_keep_to_own", lambda *_: None)
    found = "\n".join(await breaches(controller))
    for one in ("GET /api/v1/devices tells", "GET /api/v1/events tells", "DELETE /api/v1/vms/{name} changes"):
        assert one in found


async def test_a_tenant_has_its_own(controller: Controller) -> None:
    await two_tenants(controller)
    client = await holder(controller, "beta-portal", "tenant", tenant="beta")

    async def get(path: str, **query: str) -> Any:
        answer = await client.get(f"/api/v1{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert [lan["name"] for lan in (await get("/endpoints"))["items"]] == ["beta-lan"]
    assert (await get("/endpoints/beta-lan"))["vcps"] == ["beta-pool"]
    assert (await get("/addresses/beta-lan"))["leased"] == 1
    assert [one["device"] for one in (await get("/leases", endpoint="beta-lan"))["items"]] == ["beta-md"]
    assert [one["name"] for one in (await get("/vms", endpoint="beta-lan"))["items"]] == ["beta-vm"]
    host = {"hosts": [{"name": "beta-scanner", "address": "10.102.0.99"}]}
    assert (await client.post("/api/v1/addresses/beta-lan/statics", json=host)).status_code == 200
    assert (await client.delete("/api/v1/addresses/beta-lan/statics/beta-printer")).status_code == 204
    assert [one["name"] for one in (await get("/addresses/beta-lan/statics"))["items"]] == ["beta-scanner"]


async def test_what_is_anothers_is_as_what_is_not_there(controller: Controller) -> None:
    await two_tenants(controller)
    client = await holder(controller, "beta-portal", "tenant", tenant="beta")
    for (method, path), (where, _) in TENANTS.items():
        if where != PATH:
            continue
        answers = [
            await client.request(method, path.replace("{endpoint}", lan).replace("{name}", lan), json={"hosts": []})
            for lan in ("alpha-lan", "c1-lan", "gamma-lan")
        ]
        for answer, lan in zip(answers, ("alpha-lan", "c1-lan", "gamma-lan"), strict=True):
            problem(answer, 404)
            assert answer.text.replace(lan, "x") == answers[2].text.replace("gamma-lan", "x")
    problem(await client.get("/api/v1/leases"), 403, reason="?endpoint=NAME")


@given(st.sampled_from(OPERATIONS))
def test_a_tenant_may_only_what_is_listed(operation: Operation) -> None:
    method, path, tags = operation
    assert (lacking(Role.TENANT, method, path, tags) is None) == ((method, path) in TENANTS)
    assert set(TENANTS) <= {(method, path) for method, path, _ in OPERATIONS}


def test_the_page_has_the_list() -> None:
    """docs/operate/access.md lists the operations of the code."""
    page = (Path(__file__).parents[3] / "docs" / "operate" / "access.md").read_text()
    written = {line.strip("-` ") for line in page.splitlines() if line.startswith(("- `GET", "- `POST", "- `DELETE"))}
    assert written == {
        f"{method} {path}" + ("?endpoint=" if where == QUERY else "") for (method, path), (where, _) in TENANTS.items()
    }


async def test_a_tenants_token_has_a_tenant_and_no_other_has(controller: Controller) -> None:
    reason = "a token has a tenant if its role is tenant, and only then"
    await controller.refused(422, "/tokens", {"name": "x", "role": "tenant"}, "tenant", reason)
    await controller.refused(422, "/tokens", {"name": "x", "role": "viewer", "tenant": "beta"}, "tenant", reason)
    assert all(Role.TENANT not in (least.look, least.change) for least in TABLE.values())
