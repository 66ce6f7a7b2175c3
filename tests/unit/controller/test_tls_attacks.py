"""Attacks on the agent API over TLS without the necessary credentials. Each succeeds when its defence is removed."""
# ruff: noqa: F401, F811 - fixtures are imported

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from agents.controller.client import Controller as Door
from agents.controller.client import ControllerAway, ControllerRefused
from agents.identity import Identity, tls
from agents.identity import x509 as agents_x509
from agents.identity.enrolment import EnrolmentError
from controller.core import tokens
from controller.core.clock import now
from controller.identity import credential_proofs
from controller.trust import ceremony
from controller.trust.builtin import BuiltIn
from controller.wire.certificates import CONTROLLER, CertificateRequest
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.tls_site import ON_SQLITE, Site, bare, controller, directory, noted, refused, site, works


@ON_SQLITE
async def test_a_credential_is_good_with_its_cloudlets_certificate_alone(
    site: Site, tmp_path: Path, controller: Controller
) -> None:
    other = await Site(controller, site.url, tmp_path / "c2", "c2").enrol(2)
    stolen = await site.open()
    stolen.use(site.credential)
    stolen.secure(tls.context(site.identity.trusted or "", None, Path("none")))
    await refused(stolen, "together with its certificate, and none was shown")
    await noted(controller, "none was shown")
    with pytest.raises(ControllerRefused, match="none was shown"):
        async for _ in stolen.desired(None, lambda: None):
            pass
    key = agents_x509.new_key()
    for csr in (
        agents_x509.request(key, "c1"),
        agents_x509.request((site.path / "identity/key.pem").read_text(), "c1"),
    ):
        before = (await controller.get("/certificates", cloudlet="c1"))["items"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("controller.identity.certificates.AGAIN", timedelta())
            with pytest.raises(ControllerRefused, match=r"not for the key|has a certificate"):
                await stolen.certificate(CertificateRequest(csr=csr))
        assert (await controller.get("/certificates", cloudlet="c1"))["items"] == before
    await noted(controller, "has a certificate: only its holder gets another one, by showing it")
    other.door.use(site.credential)
    await refused(other.door, "certificate is c2's, the credential c1's")
    plain = await controller.stack.enter_async_context(Door(str(controller.http.base_url)))
    plain.use(site.credential)
    await refused(plain, "good only over TLS, together with its certificate")
    await works(site.door)


@ON_SQLITE
async def test_an_old_certificate_does_not_open_a_new_enrolment(site: Site, controller: Controller) -> None:
    """The attacker has an earlier state directory, and the present credential."""
    old = site.path / "old"
    old.mkdir()
    for name in ("key.pem", "certificate.pem"):
        (old / name).write_text((site.path / "identity" / name).read_text())
    before = site.credential
    token = (await controller.post("/cloudlets/c1/token", status=200))["token"]
    site.state.remove("credential.json")
    await site.enrol(token=token)
    await works(site.door)
    thief = await site.open()
    thief.secure(tls.context(site.identity.trusted or "", old / "certificate.pem", old / "key.pem"))
    thief.use(site.credential)
    await refused(thief, "not for the key that c1 enrolled with")
    thief.use(before)
    await refused(thief, "not valid")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("controller.core.credential_proofs.lacking", lambda *args, **more: None)
        await refused(thief, "not valid")
        thief.use(site.credential)
        await refused(thief, "certificate of c1 was revoked at")


@ON_SQLITE
async def test_a_foreign_certificate_is_refused_in_the_handshake(
    site: Site, controller: Controller, tmp_path: Path
) -> None:
    ceremony.init(tmp_path / "foreign", "test", now())
    key = agents_x509.new_key()
    foreign = BuiltIn.read(tmp_path / "foreign")
    issued = await foreign.issue(agents_x509.request(key, "c1"), "c1", "192.0.2.1", timedelta(days=1))
    (tmp_path / "key.pem").write_text(key)
    (tmp_path / "certificate.pem").write_text(issued.certificate + foreign.chain)
    thief = await site.open()
    thief.secure(tls.context(site.identity.trusted or "", tmp_path / "certificate.pem", tmp_path / "key.pem"))
    thief.use(site.credential)
    with pytest.raises(ControllerAway):
        await works(thief)
    await noted(controller, "its certificate is not from this region's authority")


@ON_SQLITE
async def test_an_expired_certificate_opens_nothing(
    start: Start, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(authority=directory, agent_listen="127.0.0.1:0", certificate_seconds=3600) as controller:
        site = await Site(controller, await controller.over_tls(), tmp_path / "c1").enrol()
        following = await site.follow()
        monkeypatch.setattr(credential_proofs, "now", lambda: now() + timedelta(hours=2))
        later = await site.open()
        Identity("c1", later, tmp_path / "c1/identity")
        later.use(site.credential)
        await refused(later, r"certificate of c1 expired at .*weft cloudlet token c1")
        await noted(controller, "the certificate of c1 expired at")
        with pytest.raises(ControllerRefused, match="expired"):
            await later.certificate(CertificateRequest(csr=site.identity.request()))
        controller.region.agents.registry.wake_all()
        await eventually(following.done)


@ON_SQLITE
async def test_revoked_over_tls_is_cut_within_two_seconds(site: Site, controller: Controller) -> None:
    following = await site.follow()
    await works(site.door)
    (item,) = (await controller.get("/certificates"))["items"]
    began = asyncio.get_running_loop().time()
    await controller.post(f"/certificates/{item['serial']}/revoke", status=200)
    await eventually(following.done)
    assert asyncio.get_running_loop().time() - began < 2
    await refused(site.door, "not valid")
    await refused_again(site)


async def refused_again(site: Site) -> None:
    """Check that a new connection is refused."""
    door = await site.open()
    Identity("c1", door, site.path / "identity")
    door.use(site.credential)
    await refused(door, "not valid")


@ON_SQLITE
async def test_tls_1_2_is_refused(site: Site, controller: Controller) -> None:
    old = bare(site.url, site)
    async with bare(
        site.url, site, minimum_version=ssl.TLSVersion.TLSv1_2, maximum_version=ssl.TLSVersion.TLSv1_2
    ) as client:
        with pytest.raises(httpx.TransportError):
            await client.get("/healthz", extensions={"sni_hostname": CONTROLLER})
    await noted(controller, "unsupported protocol")
    async with old as client:
        assert (await client.get("/healthz", extensions={"sni_hostname": CONTROLLER})).status_code == 200


@ON_SQLITE
async def test_an_impostor_is_not_spoken_to(start: Start, site: Site, controller: Controller, tmp_path: Path) -> None:
    """The impostor has a root of its own with the same name, and takes the controller's place."""
    ceremony.init(tmp_path / "foreign", "test", now())
    async with start(authority=tmp_path / "foreign", agent_listen="127.0.0.1:0", replica="impostor") as impostor:
        url = await impostor.over_tls()
        door = await controller.stack.enter_async_context(Door(url))
        Identity("c1", door, site.path / "identity")
        door.use(site.credential)
        with pytest.raises(ControllerAway, match="not the controller, or this agent trusts another root"):
            await works(door)
        token = (await controller.post("/cloudlets", {"name": "c3", "pe": "vpls", "vtep": "192.0.2.3"}))["token"]
        with pytest.raises(EnrolmentError, match="not the one that the token is from"):
            await Site(impostor, url, tmp_path / "c3", "c3").enrol(token=token)
        with pytest.raises(EnrolmentError, match="does not say whom to trust"):
            await Site(impostor, url, tmp_path / "c3", "c3").enrol(token=tokens.secret(token))
        await Site(controller, site.url, tmp_path / "c3", "c3").enrol(token=token)


@ON_SQLITE
async def test_a_cloudlet_cannot_stand_in_for_the_controller(site: Site, controller: Controller) -> None:
    """The cloudlet's certificate is from the same root, and is also valid for TLS servers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(site.path / "identity/certificate.pem", site.path / "identity/key.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        door = await controller.stack.enter_async_context(Door(url))
        Identity("c1", door, site.path / "identity")
        with pytest.raises(ControllerAway, match=f"not valid for '{CONTROLLER}'"):
            await works(door)


@ON_SQLITE
async def test_a_token_is_good_once_and_for_its_cloudlet(site: Site, controller: Controller, tmp_path: Path) -> None:
    with pytest.raises(EnrolmentError, match="was used at"):
        await Site(controller, site.url, tmp_path / "again").enrol(token=site.token)
    token = (await controller.post("/cloudlets", {"name": "c2", "pe": "vpls", "vtep": "192.0.2.2"}))["token"]
    with pytest.raises(EnrolmentError, match="not valid for this cloudlet"):
        await Site(controller, site.url, tmp_path / "stolen", "c1").enrol(token=token)
    await works(site.door)
