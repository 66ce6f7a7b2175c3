"""Enrolment with a lost answer: the same agent gets the answer again, and nobody else does."""
# ruff: noqa: F401, F811 - fixtures are imported

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agents.controller.client import Controller as Door
from agents.controller.client import ControllerAway, ControllerRefused
from agents.identity import Identity
from agents.identity import x509 as agents_x509
from agents.identity.enrolment import credential
from agents.storage.state import StateDirectory
from controller.core.tokens import new_secret
from controller.wire.certificates import CertificateRequest
from controller.wire.enrolments import Enrolment, EnrolmentRequest
from tests.unit.controller.conftest import Controller
from tests.unit.controller.tls_site import ON_SQLITE, Site, controller, directory, works


async def invited(controller: Controller, number: int = 1, **more: Any) -> dict[str, Any]:
    name = f"c{number}"
    made = await controller.post("/cloudlets", {"name": name, "pe": "vpls", "vtep": f"192.0.2.{number}", **more})
    return {"token": made["token"], "cloudlet": name, "agent_version": "1"}


async def told(controller: Controller, kind: str) -> int:
    return sum(event["type"] == kind for event in (await controller.get("/events", limit=500))["items"])


async def test_the_same_agent_is_answered_again_also_while_the_first_answer_is_on_its_way(
    controller: Controller,
) -> None:
    body = await invited(controller) | {"credential": new_secret()}
    answers = await asyncio.gather(*(controller.http.post("/api/v1/enrolments", json=body) for _ in range(4)))
    assert [answer.status_code for answer in answers] == [201] * 4
    assert {answer.json()["credential"] for answer in answers} == {body["credential"]}
    assert await told(controller, "cloudlet-enrolled") == 1
    headers = {"Authorization": f"Bearer {body['credential']}"}
    seen = {"cloudlet": "c1", "sightings": []}
    assert (await controller.http.post("/api/v1/agent/sightings", json=seen, headers=headers)).status_code == 204
    other = body | {"credential": new_secret()}
    await controller.refused(403, "/enrolments", other, "token", "the token was used at")
    await controller.refused(403, "/enrolments", {**body, "credential": None}, "token", "the token was used at")
    assert (await controller.http.post("/api/v1/enrolments", json=body)).status_code == 201


async def test_a_credential_that_was_revoked_does_not_come_back(controller: Controller) -> None:
    body = await invited(controller) | {
        "credential": new_secret(),
        "csr": agents_x509.request(agents_x509.new_key(), "c1"),
    }
    made = await controller.post("/enrolments", body)
    assert made["certified"]
    serial = (await controller.get("/certificates"))["items"][0]["serial"]
    await controller.post(f"/certificates/{serial}/revoke", status=200)
    await controller.refused(403, "/enrolments", body, "token", "the token was used at")


async def test_a_credential_is_one_cloudlets_and_not_short(controller: Controller) -> None:
    one = await invited(controller) | {"credential": new_secret()}
    await controller.post("/enrolments", one)
    other = await invited(controller, 2)
    await controller.refused(422, "/enrolments", other | {"credential": one["credential"]}, "credential", "another")
    await controller.refused(422, "/enrolments", other | {"credential": "guess"}, "credential", "43 to 128 letters")
    assert (await controller.post("/enrolments", other))["credential"] not in ("guess", one["credential"])


@ON_SQLITE
async def test_an_agent_asks_again_with_its_key_after_a_restart_too(controller: Controller, tmp_path: Path) -> None:
    site = Site(controller, await controller.over_tls(), tmp_path / "c1")
    asked: list[EnrolmentRequest] = []

    class Lossy(Door):
        async def enrol(self, request: EnrolmentRequest) -> Enrolment:
            asked.append(request)
            await super().enrol(request)
            raise ControllerAway("took too long")

    (site.path / "token").write_text((await invited(controller))["token"])
    site.open = lambda: controller.stack.enter_async_context(Lossy(site.url))  # type: ignore[method-assign]
    door = await site.open()
    identity = Identity("c1", door, site.path / "identity")
    trying = asyncio.create_task(credential(door, site.state, identity, "c1", site.path / "token", "1"))
    async with asyncio.timeout(20):
        while len(asked) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    trying.cancel()
    await asyncio.gather(trying, return_exceptions=True)

    door = await controller.stack.enter_async_context(Door(site.url))
    identity, state = Identity("c1", door, site.path / "identity"), StateDirectory(site.path, "c1")
    kept = await credential(door, state, identity, "c1", site.path / "token", "1")
    assert {request.credential for request in asked} == {kept} == {state.credential()}
    assert not (site.path / "proposed").exists()
    door.use(kept)
    csr = agents_x509.request((site.path / "identity/key.pem").read_text(), "c1")
    identity.take(await door.certificate(CertificateRequest(csr=csr)))
    await works(door)

    thief = asked[0].model_copy(update={"csr": agents_x509.request(agents_x509.new_key(), "c1")})
    with pytest.raises(ControllerRefused, match="the token was used at"):
        await door.enrol(thief)
