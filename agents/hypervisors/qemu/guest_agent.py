"""The guest agent (QEMU manual, "QEMU Guest Agent Protocol Reference"), on the machine's virtio-serial socket."""

import asyncio
import base64
import json
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.monitor import short

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""One request, by its name and arguments, and its answer."""

_POLL = 0.02
_LIMIT = 2**24  # bytes of an answer
_ANSWER = 5.0  # seconds to answer one request


class GuestAgent:
    """What runs in the guest of one machine. One client at a time, as with the monitor."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path, self._lock = name, path, asyncio.Lock()

    async def run(self, program: str, *arguments: str, seconds: float) -> str:
        """What a program printed. Raises HypervisorError if it failed or nobody answers."""
        said = shlex.join((program, *arguments))
        async with self._lock:
            try:
                async with asyncio.timeout(seconds):
                    return await self._run(program, arguments, said)
            except TimeoutError:
                raise HypervisorError(f"{self._name}: the guest did not finish {said!r} in {seconds:g} s") from None
            except (OSError, EOFError, ValueError, KeyError) as error:
                raise HypervisorError(f"{self._name}: no agent in the guest answers: {error}") from error

    async def shut_down(self) -> None:
        """Asks the guest to; nobody answers that (manual, `guest-shutdown`). Nothing if nobody listens."""
        async with self._lock:
            with suppress(OSError, EOFError, ValueError, TimeoutError):
                async with asyncio.timeout(_ANSWER):
                    _, writer = await self._connect()
                    try:
                        writer.write(b'{"execute": "guest-shutdown"}\n')
                        await writer.drain()
                    finally:
                        writer.close()

    async def _run(self, program: str, arguments: tuple[str, ...], said: str) -> str:
        async with self.talk() as ask:
            started = {"path": program, "arg": list(arguments), "capture-output": True}
            pid = (await ask("guest-exec", started))["pid"]
            while True:
                found = await ask("guest-exec-status", {"pid": pid})
                if found["exited"]:
                    break
                await asyncio.sleep(_POLL)
        out, err = (base64.b64decode(found.get(key, "")).decode(errors="replace") for key in ("out-data", "err-data"))
        if code := found.get("exitcode", -1):
            raise HypervisorError(f"{self._name}: {said!r} failed in the guest ({code}): {(err or out).strip()[-300:]}")
        return out

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Ask]:
        """With somebody who listens: waits for one."""
        reader, writer = await self._connect()
        try:
            yield partial(self._ask, reader, writer)
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which somebody answers. QEMU breaks off the one that it has when the guest opens its end, as
        it does while it boots; nothing was asked for before that."""
        while True:
            with short(self._path) as path:
                reader, writer = await asyncio.open_unix_connection(path, limit=_LIMIT)
            try:
                await self._synchronise(reader, writer)
                return reader, writer
            except (ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError):
                writer.close()
                await asyncio.sleep(_POLL)
            except BaseException:
                writer.close()
                raise

    async def _synchronise(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Skips what is left of somebody else's talk, and asks again as long as nobody listens."""
        while True:
            mark = int.from_bytes(os.urandom(4), "big")
            writer.write(b"\xff" + json.dumps({"execute": "guest-sync-delimited", "arguments": {"id": mark}}).encode())
            await writer.drain()
            try:
                async with asyncio.timeout(_ANSWER):
                    while True:
                        await reader.readuntil(b"\xff")
                        line = await reader.readuntil(b"\n")
                        if json.loads(line).get("return") == mark:
                            return
            except TimeoutError:
                continue

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        writer.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        await writer.drain()
        answer = json.loads(await reader.readuntil(b"\n"))
        if "error" in answer:
            raise HypervisorError(f"{self._name}: the guest refused {command}: {answer['error'].get('desc')}")
        found: dict[str, Any] = answer["return"]
        return found
