"""The part of a cloudlet's agent that calls the controller, over TLS, with its own code."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agents.controller.client import Controller as Door
from agents.controller.client import ControllerAway, ControllerRefused
from agents.identity import Identity, tls
from agents.identity.enrolment import credential
from agents.storage.state import StateDirectory
from controller.core.clock import now
from controller.trust import ceremony
from controller.wire.certificates import Authorities, Revocations
from controller.wire.desired import Desired
from controller.wire.sightings import SightingReport
from tests.unit.controller.conftest import Controller, Start

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Site:
    """The part of a cloudlet's agent that calls the controller."""

    def __init__(self, controller: Controller, url: str, path: Path, name: str = "c1") -> None:
        self.controller, self.url, self.path, self.name = controller, url, path, name
        self.state = StateDirectory(path, name)

    async def enrol(self, number: int = 1, token: str | None = None, **more: Any) -> "Site":
        if token is None:
            body = {"name": self.name, "pe": "vpls", "vtep": f"192.0.2.{number}"} | more
            token = (await self.controller.post("/cloudlets", body))["token"]
        self.token = token
        (self.path / "token").write_text(token)
        self.door = await self.open()
        self.identity = Identity(self.name, self.door, self.path / "identity")
        self.credential = await credential(self.door, self.state, self.identity, self.name, self.path / "token", "1")
        self.door.use(self.credential)
        return self

    async def open(self) -> Door:
        return await self.controller.stack.enter_async_context(Door(self.url))

    async def follow(self, door: Door | None = None) -> "asyncio.Task[list[Desired]]":
        """Start a task that reads the stream of desired states until it ends."""
        opened = asyncio.Event()

        async def read() -> list[Desired]:
            found = []
            try:
                async for document in (door or self.door).desired(None, opened.set):
                    if isinstance(document, Desired):
                        found.append(document)
                    elif isinstance(document, Authorities):
                        self.identity.trust(document)
                    elif isinstance(document, Revocations):
                        self.identity.revoked(document)
            except ControllerAway:
                pass
            return found

        task = asyncio.create_task(read())
        waiting = asyncio.create_task(opened.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if task.done():
            await task

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.controller.stack.push_async_callback(end)
        return task


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    ceremony.init(tmp_path / "authority", "test", now())
    return tmp_path / "authority"


@pytest.fixture
async def controller(start: Start, directory: Path) -> AsyncIterator[Controller]:
    """A controller that serves agents over TLS; `url` has the address."""
    async with start(authority=directory, agent_listen="127.0.0.1:0") as running:
        yield running


@pytest.fixture
async def site(controller: Controller, tmp_path: Path) -> Site:
    return await Site(controller, await controller.over_tls(), tmp_path / "c1").enrol()


async def works(door: Door, name: str = "c1") -> None:
    await door.sightings(SightingReport(cloudlet=name, sightings=[]))


async def refused(door: Door, reason: str) -> None:
    with pytest.raises(ControllerRefused, match=reason) as caught:
        await works(door)
    assert caught.value.status == 401


async def noted(controller: Controller, reason: str) -> None:
    """Wait until an event has that reason."""
    texts: list[str] = []
    for _ in range(100):
        texts = [item["text"] for item in (await controller.get("/events"))["items"] if item["type"] == "agent-refused"]
        if any(reason in text for text in texts):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(texts)


def bare(url: str, site: Site, **options: Any) -> httpx.AsyncClient:
    """Return a client that trusts the controller as the site does, and presents no certificate."""
    context = tls.context(site.identity.trusted or "", None, Path("none"))
    for name, value in options.items():
        setattr(context, name, value)
    return httpx.AsyncClient(base_url=url, verify=context, trust_env=False)
