"""Values that one of the databases cannot store: characters that PostgreSQL does not support, texts and numbers that do
not fit. None of them may cause an internal error."""

import asyncio
import json
from typing import Any

import pytest

from controller.db import cloudlets
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller

NUL, LONG, HUGE = "a\x00b", "x" * 3000, 2**70


@pytest.mark.parametrize("value", [NUL, LONG, "\ud800"], ids=["nul", "long", "surrogate"])
async def test_texts_from_agents(controller: Controller, value: str) -> None:
    made = await controller.post("/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})
    await controller.post("/cloudlets", {"name": "c2", "pe": "vpls", "vtep": "192.0.2.2"})
    request = {"token": made["token"], "cloudlet": "c1", "agent_version": value}
    answer = await _post(controller, "/enrolments", request)
    assert answer.status_code in (201, 400, 422), answer.text
    credential = answer.json().get("credential") or await controller.enrol("c1", made["token"])
    await controller.post("/endpoints", {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24"})
    agent = {"Authorization": f"Bearer {credential}"}
    lease = {"endpoint": "c1-lan", "mac": "02:00:5e:00:00:01"}
    for body in (lease | {"hostname": value}, lease | {"client_id": value}, lease | {"endpoint": value}):
        assert (await _post(controller, "/agent/leases", body, agent)).status_code < 500
    for body in (lease | {"address": value}, lease | {"address": "10.1.0.2", "client_id": value}):
        assert (await _post(controller, "/agent/leases/release", body, agent)).status_code < 500


@pytest.mark.parametrize("value", [NUL, "x" * 200], ids=["nul", "long"])
async def test_an_agent_s_version_and_problems_are_written_down(controller: Controller, value: str) -> None:
    agent = await controller.agent("c1", 1)
    report = kernel(agent.documents[-1]).model_dump(mode="json") | {"agent_version": value}
    report["endpoints"][0]["problems"] = [value * 10]
    answer = await _post(controller, "/agent/reports", report, agent.headers)
    assert answer.status_code == 204
    async with controller.region.database.write() as session:
        await cloudlets.note_seen(session, controller.region.agents.registry.take_seen())

    async with asyncio.timeout(5):
        while True:
            items = (await controller.get("/events", limit=1000))["items"]
            if "agent-problems" in {event["type"] for event in items}:
                break
            await asyncio.sleep(0.02)
    assert not controller.region.runtime.event_log.dropped
    assert (await controller.get("/cloudlets/c1"))["agent"]["version"]


PATHS = [
    "/cloudlets/{v}",
    "/vcps/{v}",
    "/leases?endpoint={v}",
    "/leases?cursor={v}",
    "/changes/{v}",
    "/changes?cursor={v}",
    "/leases/{v}",
    "/events?after={v}",
    "/neighbours?cloudlet={v}",
    "/neighbours/history?cloudlet={v}&neighbour={v}",
    "/neighbours/history?cloudlet=c1&neighbour=c2&since={v}",
    "/policy/history?cursor={v}",
    "/policy/history/{v}",
    "/routes?nlri={v}",
    "/addresses?cursor={v}",
    "/moves?cursor={v}",
    "/moves?vm={v}",
    "/moves/{v}",
]
VALUES = ["%00", "a%00b", "x" * 3000, str(2**31), str(2**63), str(2**70), "-1", "%F0%9F%98%80", "AAAA", "AGEA",
          "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00"]  # fmt: skip


async def test_paths_and_queries(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    for path in PATHS:
        for value in VALUES:
            answer = await controller.http.get("/api/v1" + path.format(v=value))
            assert answer.status_code < 500, (path, value, answer.text)


BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/cloudlets", {"name": "c9", "pe": "vpls", "vtep": "192.0.2.9", "labels": {"a": "b"},
                    "latitude": 1, "longitude": 1}),
    ("/endpoints", {"name": "e9", "cloudlet": "c1", "prefix": "10.9.0.0/24", "ports": ["p1"], "vni": 7, "mtu": 1400,
                    "lease_seconds": 60, "max_routes": 5, "gateway": "10.9.0.1", "tenant": "t"}),
    ("/vcps", {"name": "p9", "flavour": "vpls", "description": "d"}),
    ("/devices", {"name": "m9", "mac": "02:00:5e:00:00:09", "client_id": "01aa"}),
    ("/leases", {"endpoint": "c1-lan", "device": "m9", "kind": "md"}),
    ("/moves", {"vm": "v9", "endpoint": "c1-lan", "keep": True, "linger": 5, "reason": "r"}),
    ("/reservations", {"endpoint": "c1-lan", "device": "m9", "seconds": 60}),
]  # fmt: skip


async def test_bodies(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    for path, body in BODIES:
        for field in body:
            for value in (NUL, LONG, "\ud800", HUGE, -HUGE, 2**31, 2**63, 1e308, {NUL: NUL}, [NUL], ["x" * 300], None):
                answer = await _post(controller, path, body | {field: value})
                assert answer.status_code < 500, (path, field, repr(value)[:80], answer.text)


async def test_policies(controller: Controller) -> None:
    for text in (f"# {NUL}\napiVersion: weft/v1\n", 'apiVersion: weft/v1\nvcps:\n  blue: {description: "a\\0b"}\n'):
        for verb in ("check", "apply"):
            answer = await controller.http.post(f"/api/v1/policy/{verb}", content=text.encode())
            assert answer.status_code < 500, answer.text


async def test_a_policy_of_brackets(controller: Controller) -> None:
    """The body is not JSON, and is nested deeper than the JSON reader permits."""
    body = b'["\\ud83d",' + b"[" * 50_000
    answer = await controller.http.post("/api/v1/policy/check", content=body)
    assert answer.status_code < 500, answer.text


async def _post(controller: Controller, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
    """Post JSON in ASCII, which can escape characters that UTF-8 cannot encode."""
    content = json.dumps(body).encode()
    return await controller.http.post(
        f"/api/v1{path}", content=content, headers={"Content-Type": "application/json"} | (headers or {})
    )
