"""An agent's key and certificate: the agent's own code against the real controller, over loopback TCP."""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509 as certificates

from agents.controller.client import Controller as Door
from agents.identity import Identity, identity, x509
from agents.identity.enrolment import credential
from agents.storage.state import StateDirectory
from controller.core.clock import now
from controller.trust import ceremony
from controller.trust.builtin import BuiltIn
from controller.wire.certificates import Certified, Revocations
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@asynccontextmanager
async def running(one: Identity) -> AsyncIterator[None]:
    task = asyncio.create_task(one.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def agent(controller: Controller, path: Path, **more: object) -> tuple[Door, Identity, StateDirectory]:
    """Enrol an agent as c1, as `weft-agent run` does it."""
    body = {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"} | more
    (path / "token").write_text((await controller.post("/cloudlets", body))["token"])
    door = await controller.stack.enter_async_context(Door(str(controller.http.base_url)))
    state, one = StateDirectory(path / "state", "c1"), Identity("c1", door, path / "state/identity")
    door.use(await credential(door, state, one, "c1", path / "token", "1"))
    return door, one, state


def authority(path: Path, name: str = "authority") -> Path:
    ceremony.init(path / name, name, now())
    return path / name


def files(path: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (path / "state/identity").iterdir()}


@ON_SQLITE
async def test_an_agent_gets_its_certificate_and_renews_it(
    start: Start,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    root = authority(tmp_path)
    async with start(authority=root, certificate_seconds=10) as controller:
        _door, one, _state = await agent(controller, tmp_path)
        first = files(tmp_path)
        assert sorted(first) == ["authorities.pem", "certificate.pem", "chain.pem", "key.pem"]
        folder = tmp_path / "state/identity"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert all(file.stat().st_mode & 0o777 == 0o600 for file in folder.iterdir())
        changes: list[bool] = []
        one.changed = lambda: changes.append(True)
        began = asyncio.get_running_loop().time()
        async with running(one):
            async with asyncio.timeout(30):
                while files(tmp_path)["certificate.pem"] == first["certificate.pem"]:  # noqa: ASYNC110 - a file tells nobody
                    await asyncio.sleep(0.05)
            assert asyncio.get_running_loop().time() - began > 3, "not before half of its life is over"
        second = files(tmp_path)
        assert sorted(second) == sorted(first), "nothing is left lying about"
        assert second["key.pem"] == first["key.pem"] and second["chain.pem"] == first["chain.pem"]
        assert second["certificate.pem"] != first["certificate.pem"] and one.problem is None
        assert changes, "whoever uses it is told"
        assert [c["standing"] for c in (await controller.get("/certificates"))["items"]] == ["good", "good"]
        command = ["openssl", "verify", "-x509_strict", "-no-CApath", "-CAfile", str(root / "root.pem")]
        command += ["-untrusted", str(folder / "chain.pem"), "-verify_hostname", "c1", str(folder / "certificate.pem")]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        assert first["key.pem"].splitlines()[1] not in caplog.text and "PRIVATE" not in caplog.text


@ON_SQLITE
async def test_a_controller_that_is_away_is_asked_again(
    start: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity, "_FIRST", 0.05)
    monkeypatch.setattr(identity, "_CAP", 0.1)
    root = authority(tmp_path)
    async with start(authority=root) as controller:
        await agent(controller, tmp_path)

    class Later(datetime):
        """The clock of the identity, which is 20 hours ahead."""

        @classmethod
        def now(cls, tz: object = None) -> "Later":
            return cls.fromtimestamp((datetime.now(UTC) + timedelta(hours=20)).timestamp(), UTC)

    async with Door("http://127.0.0.1:9") as nobody:
        one = Identity("c1", nobody, tmp_path / "state/identity")
        assert one.problem is None
        monkeypatch.setattr(identity, "datetime", Later)
        async with running(one):
            await eventually(lambda: one.problem and "is not renewed: the controller is away" in one.problem)
    before = files(tmp_path)["certificate.pem"]
    async with start(authority=root, certificate_seconds=40 * 3600) as controller:
        door = await controller.stack.enter_async_context(Door(str(controller.http.base_url)))
        door.use(StateDirectory(tmp_path / "state", "c1").credential() or "")
        one = Identity("c1", door, tmp_path / "state/identity")
        assert one.problem is not None
        async with running(one):
            await eventually(lambda: files(tmp_path)["certificate.pem"] != before and one.problem is None)


@ON_SQLITE
async def test_after_approval_it_asks_at_once(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_FIRST", 60.0)
    async with start(authority=authority(tmp_path)) as controller:
        _door, one, _state = await agent(controller, tmp_path, approval=True)
        assert sorted(files(tmp_path)) == ["authorities.pem", "key.pem"] and one.validity is None
        async with running(one):
            await asyncio.sleep(0.2)
            assert one.validity is None and one.problem is None
            await controller.post("/cloudlets/c1/approve", status=200)
            one.wake()
            await eventually(lambda: one.validity is not None)


@ON_SQLITE
async def test_a_new_enrolment_has_a_new_key(start: Start, tmp_path: Path) -> None:
    async with start(authority=authority(tmp_path)) as controller:
        door, one, state = await agent(controller, tmp_path)
        before = files(tmp_path)
        (tmp_path / "token").write_text((await controller.post("/cloudlets/c1/token", status=200))["token"])
        state.remove("credential.json")
        door.use(await credential(door, state, one, "c1", tmp_path / "token", "1"))
        after = files(tmp_path)
        assert after["key.pem"] != before["key.pem"] and one.validity is not None
        assert [c["standing"] for c in (await controller.get("/certificates"))["items"]] == ["revoked", "good"]


@ON_SQLITE
@pytest.mark.parametrize("spoilt", ["key.pem", "certificate.pem", "chain.pem"])
@pytest.mark.parametrize("how", ["gone", "torn"])
async def test_what_is_lost_of_it_is_had_again(start: Start, tmp_path: Path, spoilt: str, how: str) -> None:
    async with start(authority=authority(tmp_path)) as controller:
        door, one, _state = await agent(controller, tmp_path)
        file = tmp_path / "state/identity" / spoilt
        if how == "gone":
            file.unlink()
        else:
            file.write_text(file.read_text()[:100])
        one = Identity("c1", door, tmp_path / "state/identity")
        assert one.validity is None
        async with running(one):
            await eventually(lambda: one.validity is not None)
        held = files(tmp_path)
        assert x509.check(held["key.pem"], held["certificate.pem"], held["chain.pem"], "c1") == one.validity


@ON_SQLITE
async def test_agents_hear_of_what_is_revoked(start: Start, tmp_path: Path) -> None:
    async with start(authority=authority(tmp_path)) as controller:
        door, one, _state = await agent(controller, tmp_path)

        async def follow() -> None:
            async for document in door.desired(None, lambda: None):
                if isinstance(document, Revocations):
                    one.revoked(document)

        following = asyncio.create_task(follow())

        def listed() -> set[str]:
            crl = certificates.load_pem_x509_crl(files(tmp_path).get("crl.pem", "").encode())
            return {f"{entry.serial_number:040x}" for entry in crl}

        await eventually(lambda: "crl.pem" in files(tmp_path))
        assert listed() == set()
        other = await controller.post("/cloudlets", {"name": "c2", "pe": "vpls", "vtep": "192.0.2.2"})
        body = {"token": other["token"], "cloudlet": "c2", "agent_version": "1"}
        await controller.post("/enrolments", body | {"csr": x509.request(x509.new_key(), "c2")})
        (theirs,) = (await controller.get("/certificates", cloudlet="c2"))["items"]
        await controller.post(f"/certificates/{theirs['serial']}/revoke", status=200)
        began = asyncio.get_running_loop().time()
        await eventually(lambda: listed() == {theirs["serial"]})
        assert asyncio.get_running_loop().time() - began < 2
        assert (tmp_path / "state/identity/crl.pem").stat().st_mode & 0o777 == 0o600
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_the_list_waits_for_the_certificate_and_is_our_own_authoritys(tmp_path: Path) -> None:
    root, foreign = BuiltIn.read(authority(tmp_path)), BuiltIn.read(authority(tmp_path, "foreign"))
    async with Door("http://nowhere") as door:
        one = Identity("c1", door, tmp_path / "state/identity")
        issued = await root.issue(one.request(), "c1", "192.0.2.1", timedelta(days=1))
        ours = Revocations(crl=await root.crl([]))
        one.revoked(ours)
        assert "crl.pem" not in files(tmp_path)
        one.take(Certified(certificate=issued.certificate, chain=root.chain))
        assert files(tmp_path)["crl.pem"] == ours.crl
        for spoilt in (await foreign.crl([]), ours.crl[:80], ""):
            one.revoked(Revocations(crl=spoilt))
            assert files(tmp_path)["crl.pem"] == ours.crl
