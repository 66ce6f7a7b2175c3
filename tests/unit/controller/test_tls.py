"""The agent API over TLS: the agent's own code against the real controller."""
# ruff: noqa: F401, F811 - fixtures are imported

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from agents.controller.client import Controller as Door
from agents.controller.client import ControllerRefused
from agents.identity import Identity
from agents.identity import x509 as agents_x509
from agents.identity.enrolment import EnrolmentError
from controller.cli.client import Client
from controller.cli.failures import Refused, Unreachable, WrongUsage
from controller.core.clock import now
from controller.identity import credential_proofs
from controller.trust import builtin, ceremony, listener
from controller.wire.certificates import CertificateRequest
from lab.patience import eventually
from tests.unit.controller.conftest import ADMIN, Controller, Start
from tests.unit.controller.tls_site import ON_SQLITE, Site, controller, directory, refused, site, works


@ON_SQLITE
async def test_from_the_token_to_the_certificate_and_the_stream(site: Site) -> None:
    assert site.token.count(".") == 1 and site.identity.validity is not None
    assert sorted(file.name for file in (site.path / "identity").iterdir()) == [
        "authorities.pem",
        "certificate.pem",
        "chain.pem",
        "key.pem",
    ]
    await works(site.door)
    following = await site.follow()
    await eventually(lambda: site.controller.region.agents.registry.of("c1").connected)
    assert not following.done()


@ON_SQLITE
async def test_a_connection_outlives_its_certificate_if_there_is_another(
    start: Start, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(authority=directory, agent_listen="127.0.0.1:0", certificate_seconds=3600) as controller:
        site = await Site(controller, await controller.over_tls(), tmp_path / "c1").enrol()
        following = await site.follow()
        monkeypatch.setattr(builtin, "now", lambda: now() + timedelta(minutes=40))
        csr = agents_x509.request((tmp_path / "c1/identity/key.pem").read_text(), "c1")
        site.identity.take(await site.door.certificate(CertificateRequest(csr=csr)))
        monkeypatch.setattr(credential_proofs, "now", lambda: now() + timedelta(minutes=70))
        controller.region.agents.registry.wake_all()
        await works(site.door)
        await asyncio.sleep(0.3)
        assert not following.done()


@ON_SQLITE
async def test_approval_then_the_first_certificate(controller: Controller, tmp_path: Path) -> None:
    site = await Site(controller, await controller.over_tls(), tmp_path / "c1").enrol(approval=True)
    assert site.identity.validity is None
    following = await site.follow()
    key = (site.path / "identity/key.pem").read_text()
    request = CertificateRequest(csr=agents_x509.request(key, "c1"))
    with pytest.raises(ControllerRefused, match="it gets a certificate when it is approved"):
        await site.door.certificate(request)
    await refused(site.door, "none was shown")
    await controller.post("/cloudlets/c1/approve", status=200)
    await eventually(following.done)
    thief = CertificateRequest(csr=agents_x509.request(agents_x509.new_key(), "c1"))
    with pytest.raises(ControllerRefused, match="not for the key that c1 has"):
        await site.door.certificate(thief)
    site.identity.take(await site.door.certificate(request))
    await works(site.door)
    await site.follow()
    await eventually(lambda: controller.region.agents.registry.of("c1").connected)


@ON_SQLITE
async def test_an_agent_of_before_goes_on_without_tls_until_it_is_moved(controller: Controller, tmp_path: Path) -> None:
    """The agent enrolled over HTTP; its credential is bound once it requests its first certificate over TLS."""
    site = await Site(controller, str(controller.http.base_url), tmp_path / "c1").enrol()
    await works(site.door)
    site.url = await controller.over_tls()
    plain, site.door = site.door, await site.open()
    moved = Identity("c1", site.door, site.path / "identity")
    site.door.use(site.credential)
    await works(site.door)
    await works(plain)
    csr = agents_x509.request((site.path / "identity/key.pem").read_text(), "c1")
    moved.take(await site.door.certificate(CertificateRequest(csr=csr)))
    await works(site.door)
    await refused(plain, "good only over TLS")


@ON_SQLITE
async def test_agents_may_be_served_over_tls_alone(start: Start, directory: Path, tmp_path: Path) -> None:
    async with start(authority=directory, agent_listen="127.0.0.1:0") as controller:
        early = await Site(controller, str(controller.http.base_url), tmp_path / "c1").enrol()
    async with start(authority=directory, agent_listen="127.0.0.1:0", agent_tls_only=True) as controller:
        door = await controller.stack.enter_async_context(Door(str(controller.http.base_url)))
        door.use(early.credential)
        await refused(door, "gents are served over TLS only")
        with pytest.raises(EnrolmentError, match="over TLS only"):
            await Site(controller, str(controller.http.base_url), tmp_path / "c2", "c2").enrol(2)


@ON_SQLITE
async def test_the_controllers_certificate_is_renewed_and_nobody_is_cut(
    start: Start, directory: Path, tmp_path: Path
) -> None:
    async with start(authority=directory, agent_listen="127.0.0.1:0", certificate_seconds=10) as controller:
        site = await Site(controller, await controller.over_tls(), tmp_path / "c1").enrol()
        port = int(site.url.rpartition(":")[2])

        def seen() -> str:
            return ssl.get_server_certificate(("127.0.0.1", port), timeout=5)

        first, following = await asyncio.to_thread(seen), await site.follow()
        await asyncio.sleep(6)
        assert await asyncio.to_thread(seen) != first, "at half of its life"
        assert not following.done()
        await works(site.door)


@ON_SQLITE
async def test_an_authority_that_is_away_is_asked_again(
    start: Start, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "RETRY", 0.05)
    monkeypatch.setattr(builtin, "now", lambda: now() + timedelta(days=367))
    async with start(authority=directory, agent_listen="127.0.0.1:0") as controller:
        port = int((await controller.over_tls()).rpartition(":")[2])
        with pytest.raises(OSError):
            await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port), timeout=5)
        monkeypatch.setattr(builtin, "now", now)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port), timeout=5)


@ON_SQLITE
async def test_operators_are_served_there_too(
    controller: Controller, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await controller.over_tls()
    monkeypatch.setenv("WEFT_TOKEN", ADMIN)

    def listed(root: Path | None) -> list[object]:
        monkeypatch.setenv("WEFT_URL", url)
        monkeypatch.setenv("WEFT_ROOT_FILE", str(root or ""))
        with Client() as api:
            return list(api.items("/api/v1/cloudlets"))

    await controller.cloudlet("c1", 1)
    assert [one["name"] for one in await asyncio.to_thread(listed, directory / "root.pem")] == ["c1"]  # type: ignore[index]
    ceremony.init(tmp_path / "another", "other", now())
    for root in (None, tmp_path / "another/root.pem"):
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await asyncio.to_thread(listed, root)
    monkeypatch.setenv("WEFT_TOKEN", "stolen")
    with pytest.raises(Refused) as refusal:
        await asyncio.to_thread(listed, directory / "root.pem")
    assert refusal.value.problem["status"] == 401
    for file, says in (("none.pem", "cannot read .*none.pem: No such file"), ("empty", "has no certificates in it")):
        (tmp_path / "empty").touch()
        with pytest.raises(WrongUsage, match=says):
            await asyncio.to_thread(listed, tmp_path / file)
