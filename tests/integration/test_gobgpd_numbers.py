"""A gobgpd that runs with other numbers than its agent intends: it works on where that does no harm, and the agent says
what a restart would mend. It is never stopped over its API, as gobgp 4 cannot be started again after that."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.bgp.gobgp import Gobgp
from agents.bgp.gobgp.speaker import SpeakerIntent
from lab.paths import BIN
from tests.integration.agent_namespaces import namespaces, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.smoke]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[str]:
    socket = tmp_path / "api.sock"
    with namespaces("gobgpd") as [pe], (tmp_path / "log").open("wb") as log:
        command = ["ip", "netns", "exec", pe.name, str(BIN / "gobgpd"), "--api-hosts", f"unix://{socket}"]
        process = subprocess.Popen([*command, "--pprof-disable"], stdout=log, stderr=log)
        try:
            wait_for("the API", socket.exists, 20)
            yield f"unix://{socket}"
        finally:
            process.kill()
            process.wait()


async def problem(api: str, asn: int, identifier: str) -> str | None:
    """Return what a new agent says of the speaker once it has looked at it."""
    changed = asyncio.Event()
    speaker = Gobgp(api, changed.set)
    speaker.intend(SpeakerIntent(asn, identifier, "192.0.2.1", (), frozenset()))
    running = asyncio.create_task(speaker.run())
    try:
        async with asyncio.timeout(30):
            while not speaker.looked:
                await changed.wait()
                changed.clear()
        return speaker.problem
    finally:
        running.cancel()
        await asyncio.wait({running})


async def test_numbers_that_differ_are_said_and_stop_nothing(api: str) -> None:
    assert await problem(api, 65000, "192.0.2.1") is None
    former = await problem(api, 65000, "192.0.2.77")
    assert former and "BGP identifier 192.0.2.1, not 192.0.2.77" in former and "restart" in former
    other = await problem(api, 65001, "192.0.2.1")
    assert other and "AS number 65000, not 65001" in other and "restart" in other
    assert await problem(api, 65000, "192.0.2.1") is None, "it serves as before"
