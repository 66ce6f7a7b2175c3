"""Guests whose agents answer as an attacker likes: a unix socket like QEMU's, and a stand-in for libvirt's door."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.hypervisors.libvirt.connection import Connection
from agents.hypervisors.libvirt.guest_agent import DomainAgent
from agents.hypervisors.qemu.guest_agent import GuestAgent

UUID = "6f9619ff-8b86-5011-b42d-00c04fc964ff"
_PIECE = 1 << 16  # bytes: so that the whole answer is never in this process's memory
PID = b'{"return": {"pid": 7}}\n'


@dataclass
class HostileSocket:
    """A guest agent that answers `guest-sync-delimited` (with `sync` in front, and not at all if `deaf`), and then each
    request with the next of `answers`; after the last answer it is silent or closes the connection."""

    answers: Sequence[bytes]
    sync: bytes = b""
    deaf: bool = False
    hangs_up: bool = False
    delay: float = 0.0
    closed: int = 0
    met: int = 0

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.met += 1
        try:
            await self._talk(reader, writer)
            if not self.hangs_up:
                while await reader.read(4096):
                    pass
        except (OSError, EOFError):
            pass
        finally:
            self.closed += 1
            writer.transport.abort()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\xff")
        asked = json.JSONDecoder().raw_decode((await reader.readuntil(b"}}")).decode())[0]
        writer.write(self.sync)
        if not self.deaf:
            writer.write(b"\xff" + json.dumps({"return": asked["arguments"]["id"]}).encode() + b"\n")
        for one in self.answers:
            await reader.readuntil(b"\n")
            await asyncio.sleep(self.delay)
            for at in range(0, len(one), _PIECE):
                writer.write(one[at : at + _PIECE])
                await writer.drain()


class HostileDomain(Connection):
    """A stand-in for libvirt's door that passes on the guest's answers unchanged."""

    def __init__(self, answers: Sequence[bytes], delay: float = 0.0) -> None:
        super().__init__("stand-in")
        self._answers, self._delay = list(answers), delay

    async def ask(self, uuid: str, request: str, seconds: int) -> str:
        await asyncio.sleep(self._delay)
        if not self._answers:
            await asyncio.Event().wait()
        return self._answers.pop(0).decode(errors="replace")


async def asked_by_socket(guest: HostileSocket, folder: Path, seconds: float) -> str:
    """Return the result of the driver `qemu` for this guest; every connection is closed when this returns."""
    async with by_socket(guest, folder) as agent:
        return await agent.run("true", seconds=seconds)


@asynccontextmanager
async def by_socket(guest: HostileSocket, folder: Path) -> AsyncIterator[GuestAgent]:
    """Yield the guest agent as the driver `qemu` uses it; every connection is closed afterwards."""
    path = folder / "agent"
    path.unlink(missing_ok=True)
    async with await asyncio.start_unix_server(guest.meet, path):
        try:
            yield GuestAgent("vm1", path)
        finally:
            async with asyncio.timeout(10):
                await asyncio.sleep(0.005)  # a connection that was closed at once has yet to be accepted
                while guest.closed < guest.met:  # noqa: ASYNC110 - it is counted
                    await asyncio.sleep(0.001)


async def asked_by_libvirt(answers: Sequence[bytes], seconds: float, delay: float = 0.0) -> str:
    """Return the result of the driver `libvirt` for these answers."""
    return await by_libvirt(answers, delay).run("true", seconds=seconds)


def by_libvirt(answers: Sequence[bytes], delay: float = 0.0) -> GuestAgent:
    """Return the guest agent as the driver `libvirt` uses it."""
    return DomainAgent("vm1", UUID, HostileDomain(answers, delay))
