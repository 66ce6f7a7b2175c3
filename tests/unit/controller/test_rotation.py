"""The intermediate's key and the root are rotated while agents are connected, with the agent's own code, over TLS."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from agents.controller.client import ControllerAway
from agents.identity import identity as agents_identity
from agents.identity import tls, x509
from agents.ipsec import credentials
from controller.core.clock import now
from controller.identity import revocations
from controller.trust import ceremony
from controller.trust.builtin import BuiltIn
from controller.trust.ceremony import NotMade
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.test_identity import running
from tests.unit.controller.tls_site import ON_SQLITE, Site, noted, works

pytestmark = pytest.mark.slow


class Region:
    """Two cloudlets whose agents are connected, and whose sessions must not be reset."""

    def __init__(self, controller: Controller, directory: Path, sites: list[Site]) -> None:
        self.controller, self.directory, self.sites = controller, directory, sites
        self.streams: list[asyncio.Task[object]] = []

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the issuing authority."""
        return x509.first(BuiltIn.read(self.directory).chain)

    def trusting(self, number: int) -> bool:
        """Return whether every agent, and with it charon, has this number of authorities."""
        held = [credentials.read(site.path / "identity") for site in self.sites]
        return all(len(one.authorities) == number for one in held)

    def certified(self) -> bool:
        """Return whether all agents have certificates of the authority that issues now."""
        return all(x509.first((s.path / "identity/chain.pem").read_text()) == self.fingerprint for s in self.sites)

    async def well(self) -> None:
        """Check that all agents are served, on their first streams."""
        assert not any(stream.done() for stream in self.streams)
        for site in self.sites:
            await works(site.door, site.name)


@asynccontextmanager
async def region(start: Start, path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Region]:
    monkeypatch.setattr(revocations, "LOOK", 0.1)
    monkeypatch.setattr(agents_identity, "_SOON", 0.2)
    ceremony.init(path / "authority", "test", now())
    async with start(authority=path / "authority", agent_listen="127.0.0.1:0") as controller, AsyncExitStack() as stack:
        url = await controller.over_tls()
        sites = [await Site(controller, url, path / f"c{n}", f"c{n}").enrol(n) for n in (1, 2)]
        made = Region(controller, path / "authority", sites)
        for site in sites:
            await stack.enter_async_context(running(site.identity))
            made.streams.append(await site.follow())
        await eventually(lambda: made.trusting(2))
        yield made


@ON_SQLITE
async def test_a_new_intermediate(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with region(start, tmp_path, monkeypatch) as made:
        before = made.fingerprint
        ceremony.rotate(made.directory, made.directory / "root-key.pem", now())
        assert made.fingerprint != before
        await eventually(made.certified)
        await eventually(lambda: made.trusting(3))
        await made.well()
        await eventually(lambda: all(len(credentials.read(s.path / "identity").lists) == 2 for s in made.sites))
        with pytest.raises(NotMade, match="a rotation is under way"):
            ceremony.rotate(made.directory, made.directory / "root-key.pem", now())
        ceremony.finish(made.directory, [])
        await eventually(lambda: made.trusting(2))
        await made.well()


@ON_SQLITE
async def test_a_new_root(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with region(start, tmp_path, monkeypatch) as made:
        one, *_ = made.sites
        old = tmp_path / "old"
        old.mkdir()
        for name in ("key.pem", "certificate.pem"):
            (old / name).write_text((one.path / "identity" / name).read_text())
        ceremony.prepare(made.directory, now())
        await eventually(lambda: made.trusting(4))
        await made.well()
        assert made.certified(), "nothing is from the new root yet"
        with pytest.raises(NotMade, match="belongs away from this machine"):
            ceremony.switch(made.directory)
        (made.directory / "next/root-key.pem").rename(tmp_path / "drawer.pem")
        ceremony.switch(made.directory)
        await eventually(made.certified)
        await made.well()
        late = await Site(made.controller, one.url, tmp_path / "c3", "c3").enrol(3)
        await works(late.door, "c3")
        thief = await one.open()
        thief.use(one.credential)
        thief.secure(tls.context(one.identity.trusted or "", old / "certificate.pem", old / "key.pem"))
        await works(thief)
        ceremony.finish(made.directory, [])
        await eventually(lambda: made.trusting(2))
        await made.well()
        again = await one.open()
        again.use(one.credential)
        again.secure(tls.context(one.identity.trusted or "", old / "certificate.pem", old / "key.pem"))
        with pytest.raises(ControllerAway):
            await works(again)
        await noted(made.controller, "not from this region's authority")


async def test_a_switch_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    directory = tmp_path / "authority"
    ceremony.init(directory, "test", now())
    authority = BuiltIn.read(directory)
    ceremony.prepare(directory, now())
    (directory / "next/root-key.pem").unlink()
    assert authority.look() and not authority.look()
    before, after = authority.chain, BuiltIn.read(directory / "next").chain
    ceremony._keep(directory)
    (directory / "root.pem").write_text((directory / "next/root.pem").read_text())
    assert not authority.look() and authority.chain == before, "half of it is nothing"
    ceremony.switch(directory)
    assert authority.look() and authority.chain == after
    assert BuiltIn.read(directory / "former").chain == before


def finish(directory: Path, url: str, *words: str) -> tuple[int, str]:
    """Run `ca finish` as an operator does; return the exit code and the output."""
    command = [sys.executable, "-m", "controller.main", "ca", "finish", *words, str(directory)]
    environment = os.environ | {"WEFT_DATABASE_URL": url}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    return done.returncode, done.stdout + done.stderr


async def changed(controller: Controller, statement: str) -> None:
    async with controller.region.database.write() as session:
        await session.execute(text(statement))


async def test_a_rotation_does_not_end_while_certificates_of_before_are_good(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    async with region(start, tmp_path, monkeypatch) as made:
        assert (await made.controller.get("/certificates", former="true"))["items"] == []
        before = (await made.controller.get("/authority"))["issuer"]
        ceremony.rotate(made.directory, made.directory / "root-key.pem", now())
        await eventually(made.certified)
        listed = (await made.controller.get("/certificates", former="true"))["items"]
        assert [(one["cloudlet"], one["standing"], one["issuer"]) for one in listed] == [
            ("c1", "good", before),
            ("c2", "good", before),
        ]
        present = (await made.controller.get("/authority"))["issuer"]
        every = (await made.controller.get("/certificates", cloudlet="c1"))["items"]
        assert [one["issuer"] for one in every] == [before, present] and before != present

        code, said = await asyncio.to_thread(finish, made.directory, database_url)
        assert code == 1 and "that are good: 2, of c1, c2; each has another since; `weft certificate list" in said
        assert made.trusting(3) and (made.directory / "former").exists()
        await changed(
            made.controller,
            "UPDATE certificates SET revoked_at = not_after, reason = 'superseded' WHERE cloudlet = 'c1'",
        )
        await changed(made.controller, f"DELETE FROM certificates WHERE cloudlet = 'c2' AND issuer = '{present}'")
        code, said = await asyncio.to_thread(finish, made.directory, database_url)
        assert code == 1 and "good: 1, of c2; without another are c2, and would have to enrol anew" in said
        await changed(made.controller, "UPDATE certificates SET issuer = NULL WHERE cloudlet = 'c2'")
        code, said = await asyncio.to_thread(finish, made.directory, database_url)
        assert code == 1 and "good: 1, of c2" in said, "an earlier release did not say whose it is"
        await changed(made.controller, "DELETE FROM certificates WHERE cloudlet = 'c2'")
        code, said = await asyncio.to_thread(finish, made.directory, database_url)
        assert code == 0 and not (made.directory / "former").exists(), said


def test_whoever_cannot_be_asked_keeps_a_rotation_from_its_end(tmp_path: Path) -> None:
    ceremony.init(tmp_path / "authority", "test", now())
    url = f"sqlite+aiosqlite:///{tmp_path}/empty.db"
    code, said = finish(tmp_path / "authority", url)
    assert code == 1 and "No such file" in said
    ceremony.rotate(tmp_path / "authority", tmp_path / "authority/root-key.pem", now())
    code, said = finish(tmp_path / "authority", url)
    assert code == 1 and "WEFT_DATABASE_URL names a database at step none, and this release" in said
    code, said = finish(tmp_path / "authority", f"sqlite+aiosqlite:///{tmp_path}/nowhere/x.db")
    assert code == 1 and "WEFT_DATABASE_URL" in said and "Traceback" not in said
    assert (tmp_path / "authority/former").exists()
    assert finish(tmp_path / "authority", url, "--force")[0] == 0
    assert not (tmp_path / "authority/former").exists()


def test_a_few_are_named() -> None:
    held = [ceremony.CertificateInUse(f"c{number}", number > 6) for number in range(1, 9) for _ in range(2)]
    with pytest.raises(NotMade, match=r"good: 16, of c1, c2, c3, c4, c5 and 3 more; without .* c5 and 1 more, and"):
        ceremony.finish(Path("nowhere"), held)
