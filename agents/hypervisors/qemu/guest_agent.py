"""The guest agent (QEMU manual, "QEMU Guest Agent Protocol Reference"), on the machine's virtio-serial socket."""

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agents.hypervisors.guest_json import guest_object
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.guest_answer import LONGEST, Started, Status, answer, output, synchronised
from agents.hypervisors.qemu.monitor import short

Ask = Callable[[str, dict[str, Any]], Awaitable[str]]
"""One request, by its name and arguments, and the text of its answer, whatever that is."""

T = TypeVar("T")

_POLL = 0.02
_ANSWER = 5.0  # seconds to answer one request
_OTHERS = 64  # answers to somebody else that are skipped
_LARGE = 2**16  # characters; what is longer is read in a thread


class GuestAgent:
    """What runs in the guest of one machine. One client at a time, as with the monitor. A subclass has another way to
    it; what comes back is read here."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path, self._lock = name, path, asyncio.Lock()

    async def run(self, program: str, *arguments: str, seconds: float) -> str:
        """Return what a program printed. Raises HypervisorError if it failed, nobody answers, or the answer is none:
        that is the only error, whatever the guest does."""
        said = shlex.join((program, *arguments))
        async with self._lock:
            try:
                async with asyncio.timeout(seconds):
                    return await self._run(program, arguments, said)
            except TimeoutError:
                raise HypervisorError(f"{self._name}: the guest did not finish {said!r} in {seconds:g} s") from None
            except HypervisorError as error:
                raise HypervisorError(f"{self._name}: {error}") from error
            except (OSError, EOFError) as error:
                raise HypervisorError(f"{self._name}: no agent in the guest answers: {error}") from error

    async def answers(self) -> bool:
        """Whether there is an agent that answers now: waits for one, and for whoever else talks to it. Raises
        HypervisorError if the answer is none, or nobody can be asked."""
        async with self._lock:
            try:
                async with self.talk() as ask:
                    return "return" in await self._read(guest_object, await ask("guest-ping", {}), LONGEST)
            except (OSError, EOFError) as error:
                raise HypervisorError(f"{self._name}: no agent in the guest answers: {error}") from error

    async def shut_down(self) -> None:
        """Asks the guest to; nobody answers that (manual, `guest-shutdown`). Nothing if nobody listens."""
        async with self._lock:
            with suppress(OSError, EOFError, HypervisorError, TimeoutError):
                async with asyncio.timeout(_ANSWER):
                    _, writer = await self._connect()
                    try:
                        writer.write(b'{"execute": "guest-shutdown"}\n')
                        writer.close()
                        await writer.wait_closed()
                    finally:
                        writer.transport.abort()

    async def _run(self, program: str, arguments: tuple[str, ...], said: str) -> str:
        async with self.talk() as ask:
            begin = {"path": program, "arg": list(arguments), "capture-output": True}
            pid = (await self._read(answer, "guest-exec", await ask("guest-exec", begin), Started)).pid
            while True:
                text = await ask("guest-exec-status", {"pid": pid})
                found = await self._read(answer, "guest-exec-status", text, Status)
                if found.exited:
                    return await self._read(output, found, said)
                await asyncio.sleep(_POLL)

    async def _read(self, reader: Callable[..., T], *arguments: Any) -> T:
        """In a thread if there is much to read: the agent has other things to do."""
        large = any(len(text) > _LARGE for one in arguments for text in _texts(one))
        return await asyncio.to_thread(reader, *arguments) if large else reader(*arguments)

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Ask]:
        """With somebody who listens: waits for one."""
        reader, writer = await self._connect()
        try:
            yield partial(self._ask, reader, writer)
        finally:
            writer.transport.abort()  # a guest that reads nothing would keep it open

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which somebody answers. QEMU breaks off the one that it has when the guest opens its end, as
        it does while it boots; nothing was asked for before that."""
        while True:
            with short(self._path) as path:
                reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST)
            try:
                await self._synchronise(reader, writer)
                return reader, writer
            except (ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError):
                writer.transport.abort()
                await asyncio.sleep(_POLL)
            except BaseException:
                writer.transport.abort()
                raise

    async def _synchronise(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Skips what is left of somebody else's talk, and asks again as long as nobody listens."""
        while True:
            mark = int.from_bytes(os.urandom(4), "big")
            writer.write(b"\xff" + json.dumps({"execute": "guest-sync-delimited", "arguments": {"id": mark}}).encode())
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(_ANSWER):
                    for _ in range(_OTHERS):
                        await _until(reader, b"\xff")
                        if synchronised(await _until(reader, b"\n"), mark):
                            return
                    raise HypervisorError("the guest answers what nobody has asked")

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: str, arguments: dict[str, Any]
    ) -> str:
        writer.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        await writer.drain()
        return await _until(reader, b"\n")


async def _until(reader: asyncio.StreamReader, end: bytes) -> str:
    """Raises EOFError when the connection ends before, HypervisorError if nothing ends within an answer's length."""
    try:
        return (await reader.readuntil(end)).decode(errors="replace")
    except asyncio.LimitOverrunError:
        raise HypervisorError(f"the guest answered more than {LONGEST} bytes") from None


def _texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else (value.out, value.err) if isinstance(value, Status) else ()
