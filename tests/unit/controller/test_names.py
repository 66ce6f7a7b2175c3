"""Unknown names: the request is refused with a message that suggests a similar known name."""

import re
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import insert

from controller.core.clock import now
from controller.db.certificates import CertificateRow
from controller.db.decisions import DecisionRow
from controller.db.names import remembered
from controller.wire.names import NAME_PATTERN
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.test_tokens import holder

MACHINE = {"device": "ana", "endpoint": "c1-lan", "driver": "qemu", "image": "debian", "memory": 1 << 29}


async def town(controller: Controller) -> None:
    """Create cloudlets c1 and c2 with their LANs, a pool, a device and its VM."""
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number, tenant=f"tenant{number}")
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    await controller.post("/devices", {"name": "ana", "mac": "02:00:5e:00:00:01"})
    await controller.post("/vms", MACHINE | {"name": "web"})


NEAR_PATHS = [
    ("GET", "/cloudlets/c11", "there is no cloudlet 'c11': did you mean 'c1'?"),
    ("POST", "/cloudlets/c11/drain", "there is no cloudlet 'c11': did you mean 'c1'?"),
    ("GET", "/endpoints/c1", "there is no endpoint 'c1': did you mean 'c1-lan'?"),
    ("DELETE", "/endpoints/c1", "there is no endpoint 'c1': did you mean 'c1-lan'?"),
    ("GET", "/addresses/c1/statics", "there is no endpoint 'c1': did you mean 'c1-lan'?"),
    ("GET", "/vcps/bleu", "there is no VCP 'bleu': did you mean 'blue'?"),
    ("DELETE", "/vcps/blue/members/c1", "there is no member of blue 'c1': did you mean 'c1-lan'?"),
    ("GET", "/devices/anna", "there is no device 'anna': did you mean 'ana'?"),
    ("DELETE", "/devices/an", "there is no device 'an': did you mean 'ana'?"),
    ("GET", "/vms/webb", "there is no VM 'webb': did you mean 'web'?"),
    ("POST", "/vms/we/start", "there is no VM 'we': did you mean 'web'?"),
    ("GET", "/vms/nobody", "there is no VM 'nobody'"),
    ("GET", "/moves/nobody", "there is no move 'nobody'"),
]


async def test_a_path_to_nothing_says_what_is_near(controller: Controller, subtests: pytest.Subtests) -> None:
    await town(controller)
    for method, path, sentence in NEAR_PATHS:
        with subtests.test(f"{method} {path}"):
            answer = await controller.http.request(method, f"/api/v1{path}")
            problem(answer, 404)
            assert answer.json()["detail"] == sentence


NEAR_BODIES: list[tuple[str, dict[str, object], str, str]] = [
    ("/leases", {"endpoint": "c1", "device": "ana", "kind": "md"}, "endpoint", "c1-lan"),
    ("/leases", {"endpoint": "c1-lan", "device": "anna", "kind": "md"}, "device", "ana"),
    ("/reservations", {"endpoint": "c1-lan", "device": "anna"}, "device", "ana"),
    ("/moves", {"vm": "webb", "endpoint": "c2-lan"}, "vm", "web"),
    ("/moves", {"vm": "web", "endpoint": "c2"}, "endpoint", "c2-lan"),
    ("/vms", MACHINE | {"name": "w2", "endpoint": "c2"}, "endpoint", "c2-lan"),
    ("/vms", MACHINE | {"name": "w2", "device": "anna"}, "device", "ana"),
    ("/endpoints", {"name": "x", "cloudlet": "c11", "prefix": "10.9.0.0/24"}, "cloudlet", "c1"),
    ("/vcps/blue/members", {"endpoint": "c2"}, "endpoint", "c2-lan"),
]


async def test_a_body_that_names_nothing_says_what_is_near(controller: Controller, subtests: pytest.Subtests) -> None:
    await town(controller)
    for path, body, field, suggestion in NEAR_BODIES:
        with subtests.test(f"{path} {field} {body}"):
            answer = await controller.refused(422, path, body, field, f": did you mean '{suggestion}'?")
            assert answer.json()["errors"][0]["suggestion"] == suggestion


def filtered(app: FastAPI) -> list[tuple[str, str, dict[str, str]]]:
    """Return every list of the API with each of its parameters that are names, and the other required parameters."""
    found = []
    for path, operations in app.openapi()["paths"].items():
        query = [p for p in operations.get("get", {}).get("parameters", []) if p["in"] == "query"]
        for parameter in query:
            if _is_name(parameter["schema"]) and "{" not in path:
                others = {p["name"]: GOOD[p["name"]] for p in query if p["required"] and p is not parameter}
                found.append((path, parameter["name"], others))
    return found


GOOD = {
    "cloudlet": "c1",
    "neighbour": "c2",
    "endpoint": "c1-lan",
    "vm": "web",
    "from": "c1-lan",
    "to": "c2-lan",
    "address": "10.1.0.5",
    "nlri": "65000:1:1:1",
}
"""Names that exist."""


def _is_name(schema: dict[str, Any]) -> bool:
    return any(one.get("pattern") == NAME_PATTERN for one in (schema, *schema.get("anyOf", ())))


async def test_a_list_by_the_name_of_nobody_is_refused(controller: Controller, subtests: pytest.Subtests) -> None:
    await town(controller)
    lists = filtered(controller.app)
    assert {"cloudlet", "endpoint", "device", "vm", "peer", "route_server", "vcp", "image", "move"} <= {
        name for _, name, _ in lists
    }
    for path, parameter, others in lists:
        with subtests.test(f"{path} {parameter}"):
            answer = await controller.http.get(path, params=others | {parameter: "nobody"})
            assert answer.status_code in (404, 422), answer.text
            problem(answer, answer.status_code)
            assert re.search(r"there is no [\w ]+ 'nobody'", answer.text), answer.text
            if parameter in GOOD and answer.status_code == 422:
                near = await controller.http.get(path, params=others | {parameter: GOOD[parameter] + "x"})
                assert f"did you mean '{GOOD[parameter]}'?" in near.text


@pytest.mark.parametrize("path", ["/moves?vm=web", "/moves?cloudlet=c1", "/predictions?vm=web&endpoint=c2-lan"])
async def test_names_of_somebody_are_not_refused(controller: Controller, path: str) -> None:
    await town(controller)
    assert (await controller.http.get(f"/api/v1{path}")).status_code != 422


async def test_the_past_is_told_of_what_is_gone(controller: Controller) -> None:
    await town(controller)
    async with controller.region.database.write() as session:
        values = {"vm": "gone", "device": "ana", "source": "c8", "destination": "c9", "course": "stay", "reasons": []}
        await session.execute(insert(DecisionRow).values(**values, prospect={"neighbour": "near"}, estimate={}))
        body = {"serial": "0" * 40, "cloudlet": "c8", "fingerprint": "f", "not_before": now(), "not_after": now()}
        await session.execute(insert(CertificateRow).values(**body))
        assert await remembered(session, "VM", "gone") and await remembered(session, "cloudlet", "c8")
        assert not await remembered(session, "VM", "web") and not await remembered(session, "cloudlet", "c1")
    for query in ("moves?vm=gone", "moves?cloudlet=c8", "profiles?vm=gone"):
        assert (await controller.http.get(f"/api/v1/{query}")).status_code == 200, query
    assert (await controller.http.get("/api/v1/vms?cloudlet=c8")).status_code == 422


async def test_a_tenant_is_not_told_whose_names_there_are(controller: Controller) -> None:
    """A device of another tenant and an unknown one are refused in the same words."""
    await town(controller)
    tenant = await holder(controller, "t", "tenant", tenant="tenant2")
    said = []
    for device in ("ana", "anb"):
        answer = await tenant.get(f"/api/v1/leases?endpoint=c2-lan&device={device}")
        said.append((answer.status_code, answer.text.replace(device, "…")))
    assert said[0] == said[1] and said[0][0] == 422
