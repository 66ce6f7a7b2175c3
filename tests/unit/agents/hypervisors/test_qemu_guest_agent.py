"""The guest agent's socket while a guest boots."""

import asyncio
import base64
import json
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.guest_agent import GuestAgent


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer as a guest in which every program prints `hello`."""
    await reader.readuntil(b"\xff")
    asked = json.JSONDecoder().raw_decode((await reader.readuntil(b"}}")).decode())[0]
    writer.write(b"\xff" + json.dumps({"return": asked["arguments"]["id"]}).encode() + b"\n")
    for answer in ({"pid": 7}, {"exited": True, "exitcode": 0, "out-data": base64.b64encode(b"hello").decode()}):
        await reader.readuntil(b"\n")
        writer.write(json.dumps({"return": answer}).encode() + b"\n")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("broken", [1, 3])
async def test_a_connection_that_is_broken_off_before_anybody_answered_is_made_again(
    tmp_path: Path, broken: int
) -> None:
    path, met = tmp_path / "qga", []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.append(1)
        if len(met) <= broken:
            await asyncio.sleep(0.01)
            writer.transport.abort()
        else:
            await answers(reader, writer)

    async with await asyncio.start_unix_server(meet, path):
        assert await GuestAgent("vm1", path).run("true", seconds=5) == "hello"
    assert len(met) == broken + 1


async def test_a_machine_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(HypervisorError, match="no agent in the guest answers"):
        await GuestAgent("vm1", tmp_path / "qga").run("true", seconds=5)
