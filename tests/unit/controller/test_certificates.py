"""Certificates end to end: agents request them, the controller issues them, and revoked ones are refused everywhere."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509

from controller.core.clock import now
from controller.core.refusals import Refused
from controller.db import certificates as table
from controller.identity import certificates, revocations
from controller.trust import builtin, ceremony
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.trust.requests import WEAK, csr, forged


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    ceremony.init(tmp_path / "authority", "test", now())
    return tmp_path / "authority"


@pytest.fixture
async def controller(start: Start, directory: Path) -> AsyncIterator[Controller]:
    """A controller with an authority."""
    async with start(authority=directory) as running:
        yield running


async def invited(controller: Controller, name: str = "c1", number: int = 1, **more: Any) -> str:
    made = await controller.post("/cloudlets", {"name": name, "pe": "vpls", "vtep": f"192.0.2.{number}", **more})
    return str(made["token"])


async def enrolled(controller: Controller, name: str = "c1", number: int = 1, **more: Any) -> Any:
    body = {"token": await invited(controller, name, number, **more), "cloudlet": name, "agent_version": "1"}
    return await controller.post("/enrolments", body | {"csr": csr(name)})


async def ask(controller: Controller, credential: str, request: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {credential}"}
    return await controller.http.post("/api/v1/agent/certificate", json={"csr": request}, headers=headers)


async def listed(controller: Controller, **query: str) -> list[tuple[str, str, str | None]]:
    items = (await controller.get("/certificates", **query))["items"]
    return [(item["cloudlet"], item["standing"], item["reason"]) for item in items]


async def on_the_list(controller: Controller) -> set[str]:
    text = (await controller.get("/authority"))["crl"]
    return {f"{entry.serial_number:040x}" for entry in x509.load_pem_x509_crl(text.encode())}


async def test_enrolment_gives_a_certificate_and_more_follow(controller: Controller) -> None:
    enrolment = await enrolled(controller)
    leaf = x509.load_pem_x509_certificate(enrolment["certified"]["certificate"].encode())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["weft://cloudlet/c1"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.1"]
    assert timedelta(hours=24) < leaf.not_valid_after_utc - leaf.not_valid_before_utc < timedelta(hours=24.2)
    assert enrolment["certified"]["chain"] == (await controller.get("/authority"))["chain"]
    again = await ask(controller, enrolment["credential"], csr("c1"))
    assert again.status_code == 200 and again.json()["certificate"] != enrolment["certified"]["certificate"]
    (one, two) = (await controller.get("/certificates"))["items"]
    assert one["serial"] == f"{leaf.serial_number:040x}" and one["standing"] == two["standing"] == "good"
    assert await controller.get(f"/certificates/{two['serial']}") == two
    assert await listed(controller, cloudlet="c1") == [("c1", "good", None)] * 2
    first = await controller.get("/certificates", limit=1)
    assert (await controller.get("/certificates", limit=1, cursor=first["next"]))["items"] == [two]
    said = [e["text"] for e in (await controller.get("/events"))["items"] if e["type"] == "certificate-issued"]
    assert len(said) == 2 and said[0].startswith("a certificate was issued to c1, good until 20")


async def test_certificates_are_listed_by_their_standing(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enrolled(controller)
    await enrolled(controller, "c2", 2)
    one, two = (await controller.get("/certificates"))["items"]
    await controller.post(f"/certificates/{one['serial']}/revoke", {}, 200)
    assert await listed(controller, standing="revoked") == [("c1", "revoked", "keyCompromise")]
    assert await listed(controller, standing="good") == [("c2", "good", None)]
    assert await listed(controller, standing="good", cloudlet="c1") == []
    assert await listed(controller, standing="expired") == []
    end = datetime.fromisoformat(two["not_after"])
    for module in ("controller.api.certificates", "controller.db.certificates"):
        monkeypatch.setattr(f"{module}.now", lambda: end)
    assert await listed(controller, standing="expired") == [("c2", "expired", None)]
    assert [item[0] for item in await listed(controller, standing="revoked")] == ["c1"]
    assert (await controller.http.get("/api/v1/certificates?standing=new")).status_code == 422


async def test_an_agent_of_an_earlier_release_gets_what_it_knows(controller: Controller) -> None:
    body = {"token": await invited(controller), "cloudlet": "c1", "agent_version": "1"}
    assert set(await controller.post("/enrolments", body)) == {"cloudlet", "credential", "state"}
    assert await listed(controller) == []


@pytest.mark.parametrize(
    ("request_of", "reason"),
    [
        (lambda: csr("c2"), "it is not for c1"),
        (lambda: forged("c1"), "not signed with the key it is for"),
        (WEAK["RSA of 2048 bits"], "not an ECDSA key on P-256"),
        (lambda: "nothing", "not a certificate request"),
    ],
)
async def test_a_request_that_is_refused_uses_up_no_token(controller: Controller, request_of: Any, reason: str) -> None:
    body = {"token": await invited(controller), "cloudlet": "c1", "agent_version": "1"}
    await controller.refused(422, "/enrolments", body | {"csr": request_of()}, "csr", reason)
    enrolment = await controller.post("/enrolments", body | {"csr": csr("c1")})
    problem(await ask(controller, enrolment["credential"], request_of()), 422, "csr", reason)
    assert await listed(controller) == [("c1", "good", None)]


async def test_a_token_gives_one_certificate(controller: Controller) -> None:
    body = {"token": await invited(controller), "cloudlet": "c1", "agent_version": "1", "csr": csr("c1")}
    answers = [controller.http.post("/api/v1/enrolments", json=body) for _ in range(4)]
    codes = sorted(answer.status_code for answer in await asyncio.gather(*answers))
    assert codes == [201, 403, 403, 403]
    await controller.refused(403, "/enrolments", body, "token", "the token was used")
    assert await listed(controller) == [("c1", "good", None)]


async def test_a_repeated_enrolment_does_not_show_the_credential_again(controller: Controller) -> None:
    body = {"token": await invited(controller), "cloudlet": "c1", "agent_version": "1", "csr": csr("c1")}
    once = {"Idempotency-Key": "once"}
    first, again = [await controller.http.post("/api/v1/enrolments", json=body, headers=once) for _ in range(2)]
    assert first.json()["credential"] and again.json() == first.json() | {"credential": None}


async def test_another_cloudlets_credential_is_of_no_use(controller: Controller) -> None:
    one, _two = await enrolled(controller), await enrolled(controller, "c2", 2)
    problem(await ask(controller, one["credential"], csr("c2")), 422, "csr", "it is not for c1")
    problem(await ask(controller, "made-up", csr("c1")), 401)


async def test_who_waits_for_approval_waits_for_a_certificate(controller: Controller) -> None:
    enrolment = await enrolled(controller, approval=True)
    assert enrolment["state"] == "pending" and "certified" not in enrolment
    problem(await ask(controller, enrolment["credential"], csr("c1")), 409, None, "it gets a certificate when")
    await controller.post("/cloudlets/c1/approve", status=200)
    assert (await ask(controller, enrolment["credential"], csr("c1"))).status_code == 200


async def test_what_is_revoked_is_on_the_list_and_its_session_is_cut(controller: Controller) -> None:
    enrolment, other = await enrolled(controller), await enrolled(controller, "c2", 2)
    await ask(controller, enrolment["credential"], csr("c1"))
    agent = FakeAgent(controller.http, enrolment["credential"])
    await controller.follow(agent)
    await agent.document(0)
    one, two, three = [item["serial"] for item in (await controller.get("/certificates"))["items"]]
    assert await on_the_list(controller) == set()
    began = time.monotonic()
    answer = await controller.post(f"/certificates/{one}/revoke", status=200)
    assert (answer["standing"], answer["reason"]) == ("revoked", "keyCompromise")
    await eventually(lambda: agent.ended)
    assert time.monotonic() - began < 2
    assert await on_the_list(controller) == {one, three}
    assert await listed(controller, cloudlet="c1") == [("c1", "revoked", "keyCompromise")] * 2
    told = [e for e in (await controller.get("/audit"))["items"] if e["path"].endswith("/revoke")]
    assert [e["after"]["certificates"]["1"]["reason"] for e in told] == ["keyCompromise"]
    problem(await ask(controller, enrolment["credential"], csr("c1")), 401)
    problem(await controller.http.get("/api/v1/agent/desired", headers=agent.headers), 401)
    await controller.refused(409, f"/certificates/{one}/revoke", {}, None, "it was revoked at")
    await controller.refused(404, f"/certificates/{'0' * 40}/revoke", {}, None, "no certificate")
    assert (await ask(controller, other["credential"], csr("c2"))).status_code == 200
    token = (await controller.post("/cloudlets/c1/token", status=200))["token"]
    await controller.post("/enrolments", {"token": token, "cloudlet": "c1", "agent_version": "1", "csr": csr("c1")})
    assert await on_the_list(controller) == {one, three} and two not in await on_the_list(controller)


async def test_a_revoked_cloudlets_pe_is_nobodys_peer_until_it_enrols_again(
    start: Start, directory: Path, route_server: FakeRouteServer
) -> None:
    def there() -> tuple[list[str], list[str], list[str]]:
        rules = route_server.rules
        return [p.name for p in rules.peers], [e.name for e in rules.endpoints], rules.vcps[0].members

    async with start(route_server, authority=directory) as controller:
        await controller.post("/vcps", {"name": "blue"})
        for number in (1, 2):
            await enrolled(controller, f"c{number}", number)
            lan = {"name": f"c{number}-lan", "cloudlet": f"c{number}", "prefix": f"10.{number}.0.0/24"}
            await controller.post("/endpoints", lan)
            await controller.post("/vcps/blue/members", {"endpoint": lan["name"]})
        whole = (["c1", "c2"], ["c1-lan", "c2-lan"], ["c1-lan", "c2-lan"])
        assert there() == whole
        began = time.monotonic()
        serial = (await controller.get("/certificates", cloudlet="c1"))["items"][0]["serial"]
        await controller.post(f"/certificates/{serial}/revoke", status=200)
        await eventually(lambda: there() == (["c2"], ["c2-lan"], ["c2-lan"]))
        assert time.monotonic() - began < 2
        assert not controller.region.intent.remotes("c2-lan"), "the others' tunnels go too"
        assert (await controller.get("/vcps/blue"))["members"] == ["c1-lan", "c2-lan"], "it stays a member"
        token = (await controller.post("/cloudlets/c1/token", status=200))["token"]
        await controller.post("/enrolments", {"token": token, "cloudlet": "c1", "agent_version": "1", "csr": csr("c1")})
        await eventually(lambda: there() == whole)
        assert controller.region.intent.remotes("c2-lan") == {"c1-lan"}


async def test_a_removed_cloudlet_has_nothing_left(controller: Controller) -> None:
    enrolment = await enrolled(controller)
    agent = FakeAgent(controller.http, enrolment["credential"])
    await controller.follow(agent)
    await agent.document(0)
    await controller.delete("/cloudlets/c1")
    await eventually(lambda: agent.ended)
    assert await listed(controller) == [("c1", "revoked", "cessationOfOperation")]
    assert len(await on_the_list(controller)) == 1
    problem(await ask(controller, enrolment["credential"], csr("c1")), 401)


async def test_a_new_enrolment_ends_what_there_was_before(controller: Controller) -> None:
    enrolment = await enrolled(controller)
    agent = FakeAgent(controller.http, enrolment["credential"])
    await controller.follow(agent)
    await agent.document(0)
    token = (await controller.post("/cloudlets/c1/token", status=200))["token"]
    await controller.post("/enrolments", {"token": token, "cloudlet": "c1", "agent_version": "1", "csr": csr("c1")})
    await eventually(lambda: agent.ended)
    assert await listed(controller) == [("c1", "revoked", "superseded"), ("c1", "good", None)]


async def test_a_renewal_and_a_revocation_at_the_same_time(controller: Controller) -> None:
    """Whichever comes first, no valid certificate remains."""
    for number in range(1, 6):
        name = f"c{number}"
        enrolment = await enrolled(controller, name, number)
        (item,) = (await controller.get("/certificates", cloudlet=name))["items"]
        revoking = controller.http.post(f"/api/v1/certificates/{item['serial']}/revoke", json={})
        asking = [ask(controller, enrolment["credential"], csr(name)) for _ in range(4)]
        await asyncio.gather(asking[0], asking[1], revoking, asking[2], asking[3])
        assert {standing for _, standing, _ in await listed(controller, cloudlet=name)} == {"revoked"}


async def test_a_renewal_that_was_under_way_when_the_credential_ended(controller: Controller) -> None:
    enrolment = await enrolled(controller)
    cloudlet = controller.region.intent.cloudlets["c1"]
    (item,) = (await controller.get("/certificates"))["items"]
    await controller.post(f"/certificates/{item['serial']}/revoke", status=200)
    for before in (cloudlet, replace(cloudlet, name="c9")):
        with pytest.raises(Refused):
            await controller.region.identity.certificates.renew(before, csr(before.name))
    assert enrolment["credential"] and await listed(controller) == [("c1", "revoked", "keyCompromise")]


async def test_who_asks_for_too_many_is_refused(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "MOST_GOOD", 2)
    credential = (await enrolled(controller))["credential"]
    assert (await ask(controller, credential, csr("c1"))).status_code == 200
    problem(await ask(controller, credential, csr("c1")), 409, None, "has 2 certificates that are good")


async def test_what_has_expired(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    credential = (await enrolled(controller))["credential"]
    (item,) = (await controller.get("/certificates"))["items"]
    for module in ("controller.api.certificates", "controller.identity.certificates"):
        monkeypatch.setattr(f"{module}.now", lambda: now() + timedelta(days=1, seconds=1))
    assert await listed(controller) == [("c1", "expired", None)]
    await controller.refused(409, f"/certificates/{item['serial']}/revoke", {}, None, "it expired at")
    monkeypatch.setattr(table, "now", lambda: now() + timedelta(days=8, seconds=1))
    async with controller.region.database.write() as session:
        await table.prune(session)
    assert await listed(controller) == []
    monkeypatch.setattr(builtin, "now", lambda: now() + timedelta(days=367))
    problem(await ask(controller, credential, csr("c1")), 503, None, "weft-controller ca renew")


async def test_an_authority_that_is_away_does_not_keep_anybody_from_enrolling(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "now", lambda: now() + timedelta(days=367))
    enrolment = await enrolled(controller)
    assert enrolment["state"] == "active" and "certified" not in enrolment


async def test_the_last_month_of_an_authority_is_noted_once_a_day(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    region, authority = controller.region, await controller.get("/authority")
    end = datetime.fromisoformat(authority["expires_at"])
    said = []
    for days in (31, 29.5, 29, 28.4):
        monkeypatch.setattr(certificates, "now", lambda days=days: end - timedelta(days=days))
        region.identity.certificates.remind(region.runtime.event_log)
    for _ in range(100):
        said = [e["text"] for e in (await controller.get("/events"))["items"] if e["type"] == "authority-ends"]
        if len(said) == 2:
            break
        await asyncio.sleep(0.02)
    assert said == [f"the authority's certificate is good until {end:%Y-%m-%d}: weft-controller ca renew"] * 2


async def test_many_revocations_make_few_lists(controller: Controller) -> None:
    agent = FakeAgent(controller.http, (await enrolled(controller))["credential"])
    before = controller.region.identity.revocations.number
    await asyncio.gather(*(enrolled(controller, f"c{n}", n) for n in range(2, 7)))
    assert controller.region.identity.revocations.number == before, "nobody hears of a list that is as it was"
    await controller.follow(agent)
    await agent.document(0)
    begun = time.monotonic()
    for n in range(2, 7):
        await controller.delete(f"/cloudlets/c{n}")
    await asyncio.sleep(2 * revocations.PAUSE)
    lists = controller.region.identity.revocations.number - before
    assert 0 < lists <= 1 + (time.monotonic() - begun) // revocations.PAUSE
    document = await controller.region.identity.revocations.document()
    assert document is not None and len(list(x509.load_pem_x509_crl(document.crl.encode()))) == 5
    assert await controller.region.identity.revocations.document() is document


async def test_where_there_is_no_authority(start: Start) -> None:
    async with start() as controller:
        enrolment = await enrolled(controller)
        assert "certified" not in enrolment
        problem(await ask(controller, enrolment["credential"], csr("c1")), 404, None, "no authority")
        problem(await controller.http.get("/api/v1/authority"), 404, None, "no authority")
        assert await listed(controller) == []


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_agents_of_another_replica_hear_of_it_too(start: Start, directory: Path) -> None:
    async with start(authority=directory, replica="one") as one, start(authority=directory, replica="two") as two:
        revoked, other = await enrolled(one), await enrolled(one, "c2", 2)
        await eventually(lambda: len(two.region.intent.credentials) == 2)
        agents = [FakeAgent(two.http, enrolment["credential"]) for enrolment in (revoked, other)]
        for agent in agents:
            await two.follow(agent)
            await agent.document(0)
        before = two.region.identity.revocations.number
        (item,) = (await one.get("/certificates", cloudlet="c1"))["items"]
        began = time.monotonic()
        await one.post(f"/certificates/{item['serial']}/revoke", status=200)
        await eventually(lambda: agents[0].ended and two.region.identity.revocations.number > before)
        assert time.monotonic() - began < 2 and not agents[1].ended
        assert await on_the_list(two) == {item["serial"]}
        document = await two.region.identity.revocations.document()
        assert document is not None and len(list(x509.load_pem_x509_crl(document.crl.encode()))) == 1


async def test_what_agents_get_is_in_the_audit_log_and_renewals_once_a_day(controller: Controller) -> None:
    enrolment = await enrolled(controller)
    for _ in range(3):
        assert (await ask(controller, enrolment["credential"], csr("c1"))).status_code == 200
    entries = (await controller.get("/audit", who="agent:c1"))["items"]
    assert [entry["method"] for entry in entries] == ["certificate", "POST"]
    assert all(len(entry["after"]["certificates"]) == 1 for entry in entries)
    assert (await controller.get("/audit/verification"))["flaw"] is None
