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
from agents.hypervisors.short_path import short

Ask = Callable[[str, dict[str, Any]], Awaitable[str]]
"""Sends one request, given by its name and arguments, and returns the text of its answer, whatever that is."""

T = TypeVar("T")

_POLL = 0.02
_ANSWER = 5.0  # seconds to answer one request
_OTHERS = 64  # answers to other clients that are skipped
_LARGE = 2**16  # characters; longer answers are read in a thread


class GuestAgent:
    """The agent in the guest of one machine. It serves one client at a time, like the monitor. A subclass may reach it
    in another way; answers are always read here."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path, self._lock = name, path, asyncio.Lock()

    async def run(self, program: str, *arguments: str, seconds: float) -> str:
        """Return the output of a program. Raises HypervisorError if the program failed, no agent answers, or the answer
        is not valid. No other error is raised, whatever the guest does."""
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
        """Return whether an agent answers now. Waits for an agent, and for other clients of it. Raises HypervisorError
        if the answer is not valid, or there is no connection."""
        async with self._lock:
            try:
                async with self.talk() as ask:
                    return "return" in await self._read(guest_object, await ask("guest-ping", {}), LONGEST)
            except (OSError, EOFError) as error:
                raise HypervisorError(f"{self._name}: no agent in the guest answers: {error}") from error

    async def shut_down(self) -> None:
        """Ask the guest to shut down, which it does not answer (manual, `guest-shutdown`). Nothing if no agent
        listens."""
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
        """Call `reader`, in a thread if there is much to read, so that the agent can do other work."""
        large = any(len(text) > _LARGE for one in arguments for text in _texts(one))
        return await asyncio.to_thread(reader, *arguments) if large else reader(*arguments)

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Ask]:
        """Yield a function that asks the guest's agent. Waits for an agent that listens."""
        reader, writer = await self._connect()
        try:
            yield partial(self._ask, reader, writer)
        finally:
            writer.transport.abort()  # a guest that reads nothing would keep it open

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection on which an agent answers. QEMU closes its present connection when the guest opens its
        end, as it does while it boots; no request was sent before that."""
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
        """Skip the rest of another client's answers, and ask again as long as no agent listens."""
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
                    raise HypervisorError("the guest answers a question that was not asked")

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: str, arguments: dict[str, Any]
    ) -> str:
        writer.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        await writer.drain()
        return await _until(reader, b"\n")


async def _until(reader: asyncio.StreamReader, end: bytes) -> str:
    """Return the text up to `end`. Raises EOFError when the connection ends before, HypervisorError if the answer is
    too long."""
    try:
        return (await reader.readuntil(end)).decode(errors="replace")
    except asyncio.LimitOverrunError:
        raise HypervisorError(f"the guest answered more than {LONGEST} bytes") from None


def _texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else (value.out, value.err) if isinstance(value, Status) else ()
