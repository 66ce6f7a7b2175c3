"""The intermediate's key and the root are rotated while agents are connected: by the agent's own code, over TLS."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from agents.controller import ControllerAway
from agents.identity import identity as agents_identity
from agents.identity import tls, x509
from agents.ipsec import credentials
from controller import revocations
from controller.db.base import now
from controller.trust import ceremony
from controller.trust.builtin import BuiltIn
from controller.trust.ceremony import NotMade
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.test_identity import running
from tests.unit.controller.tls_site import ON_SQLITE, Site, noted, works


class Region:
    """Two cloudlets whose agents are connected, and whose sessions must not be reset."""

    def __init__(self, controller: Controller, directory: Path, sites: list[Site]) -> None:
        self.controller, self.directory, self.sites = controller, directory, sites
        self.streams: list[asyncio.Task[object]] = []

    @property
    def fingerprint(self) -> str:
        """Of the authority that issues."""
        return x509.first(BuiltIn.read(self.directory).chain)

    def trusting(self, number: int) -> bool:
        """Whether every agent, and with it charon, holds so many authorities."""
        held = [credentials.read(site.path / "identity") for site in self.sites]
        return all(len(one.authorities) == number for one in held)

    def certified(self) -> bool:
        """Whether all agents have certificates of the authority that issues now."""
        return all(x509.first((s.path / "identity/chain.pem").read_text()) == self.fingerprint for s in self.sites)

    async def well(self) -> None:
        """Everybody is served, on the streams of the beginning."""
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
        ceremony.finish(made.directory)
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
        ceremony.finish(made.directory)
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
