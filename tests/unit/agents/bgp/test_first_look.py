"""The first look at a speaker: before it, what the agent knows of sessions means nothing."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.bgp.gobgp import Gobgp
from agents.bgp.gobgp.speaker import SpeakerIntent
from agents.services import EvpnSpeaker
from agents.settings import FrrSettings
from controller.wire.flavours import Flavour
from tests.unit.agents.desires import desired, endpoint

INTENT = SpeakerIntent(65000, "192.0.2.1", "192.0.2.1", (), frozenset(), {}, None)


def gobgp(folder: Path, changed: asyncio.Event) -> Gobgp:
    speaker = Gobgp(f"unix://{folder}/api.sock", changed.set)
    speaker.intend(INTENT)
    return speaker


def frr(folder: Path, changed: asyncio.Event) -> EvpnSpeaker:
    speaker = EvpnSpeaker(FrrSettings(vty_dir=folder, conf=folder / "frr.conf"), changed.set)
    speaker.intend(desired(endpoint(1, flavour=Flavour.EVPN)), {})
    return speaker


@pytest.mark.parametrize("make", [gobgp, frr])
async def test_a_speaker_that_is_not_there_was_looked_at(
    make: Callable[[Path, asyncio.Event], Gobgp | EvpnSpeaker], tmp_path: Path
) -> None:
    """The agent hears of it, and reports why."""
    changed = asyncio.Event()
    speaker = make(tmp_path, changed)
    before = speaker.looked
    running = asyncio.create_task(speaker.run())
    try:
        async with asyncio.timeout(30):
            while not speaker.looked:
                await changed.wait()
                changed.clear()
        assert not before and speaker.problem and not speaker.sessions
    finally:
        running.cancel()


async def test_a_gobgpd_that_stands_was_not_looked_at(tmp_path: Path) -> None:
    """It takes the connection and says nothing, as a stopped process does."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "api.sock"))
        listener.listen()
        changed = asyncio.Event()
        speaker = gobgp(tmp_path, changed)
        running = asyncio.create_task(speaker.run())
        try:
            taken, _ = await asyncio.to_thread(listener.accept)
            with taken:
                assert not speaker.looked
        finally:
            running.cancel()
