"""A controller whose events go to a receiver: fixtures and words of the tests of webhooks."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from controller.core import webhooks as decisions
from controller.db import events
from controller.webhooks import dispatcher
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.webhook_receiver import Receiver, receiving

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()
OTHER = "whsec_" + base64.b64encode(b"another secret of these bytes...").decode()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "PAUSE", 0.005)
    monkeypatch.setattr(decisions, "FIRST", 0.002)
    monkeypatch.setattr(decisions, "LONGEST", 0.01)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    """The controller's settings for webhooks."""
    (tmp_path / "key").write_text("a-secret-of-at-least-32-bytes-of-text")
    (tmp_path / "key").chmod(0o600)
    return {"webhook_key_file": tmp_path / "key"}


@pytest.fixture
async def receiver(tmp_path: Path) -> AsyncIterator[Receiver]:
    async with receiving(tmp_path) as found:
        yield found


@pytest.fixture
async def controller(start: Start, options: dict[str, Any]) -> AsyncIterator[Controller]:
    async with start(**options) as running:
        yield running


async def add(controller: Controller, receiver: Receiver, name: str = "r", **more: Any) -> Any:
    body = {"name": name, "url": f"{receiver.url}/in", "root": receiver.root, "secret": SECRET, "type": "told"}
    return await controller.post("/webhooks", body | more)


async def tell(controller: Controller, *words: str, type: str = "told", **more: Any) -> list[int]:
    """Record events, and return their ids."""
    async with controller.region.database.write() as session:
        before = await events.latest(session)
        for word in words:
            await events.add(session, type, "c1", word, **more)
    controller.region.runtime.wakeup.ring()
    async with controller.region.database.read() as session:
        return [row.id for row in await events.after(session, before, 1000)]


async def state(controller: Controller, name: str = "r") -> Any:
    return await controller.get(f"/webhooks/{name}")


async def reached(receiver: Receiver, numbers: list[int]) -> None:
    await eventually(lambda: receiver.numbers == numbers, lambda: f"{receiver.numbers}, not {numbers}")


async def state_is(controller: Controller, **wanted: Any) -> bool:
    found = await state(controller)
    return {key: found[key] for key in wanted} == wanted
