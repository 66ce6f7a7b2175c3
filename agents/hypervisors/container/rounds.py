"""Rounds: images of a container's memory and its files, again and again, until what has changed since the round before
fits into a pause (Ma et al., section 4: dirty memory goes in rounds, and only the top layer goes)."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

from agents.answer import printable
from agents.hypervisors.container.container import SOCKET, Container
from agents.hypervisors.container.guest import GUEST
from agents.hypervisors.container.rootfs import UPPER
from agents.hypervisors.container.runc import MEMORY
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.short_path import short
from agents.hypervisors.weft_transfer import Status, figures
from controller.wire.moves import Figures

TREES = (UPPER, MEMORY, GUEST)
"""The folders that a move carries."""

MOST = 8
"""Most rounds before the pause."""

_SHRINKS = 0.7  # of the round before; else the container writes as fast as the line carries
_SAY = 0.5  # seconds between two figures


class Rounds:
    """The rounds of a container's move over its weft-transfer, which has met the other end."""

    def __init__(self, container: Container) -> None:
        self._container, self._folder = container, container.folder

    async def converge(self, downtime: float) -> AsyncIterator[Figures]:
        """Send rounds until the next one fits into `downtime` seconds, and yield figures. Raises Refused if
        CRIU does not know a state that the container has, and HypervisorError."""
        began, before, rate = monotonic(), float("inf"), 0.0
        for number in range(1, MOST + 1):
            await self.dump()
            work = await asyncio.to_thread(_bytes, [self._folder / UPPER, self._folder / MEMORY])
            wire, start = (await self._status())["wire"], monotonic()
            sending = asyncio.create_task(self.send((UPPER, MEMORY)))
            try:
                while not sending.done():
                    await asyncio.wait({sending}, timeout=_SAY)
                    yield _figures(await self._status(), began, number, work, done=False)
                await sending
            finally:
                sending.cancel()
            cost = (await self._status())["wire"] - wire
            rate = max(rate, cost / (monotonic() - start))  # of the first round, as a rule: later ones wait for hashes
            if cost <= downtime * rate or cost > _SHRINKS * before:
                break
            before = cost
        yield _figures(await self._status(), began, number, work, done=True)

    async def dump(self, last: bool = False) -> None:
        """Make images of the container's memory, in place of those before; the `last` ones have its connections too."""
        await asyncio.to_thread(shutil.rmtree, self._folder / MEMORY, ignore_errors=True)
        await self._container.runtime.dump(last)

    async def send(self, trees: Sequence[str], last: bool = False) -> None:
        """Send these folders, and return when they are the same at the other end. Raises HypervisorError."""
        order = json.dumps({"trees": trees, "last": last})
        said = await self._say(order)
        with suppress(ValueError, TypeError, KeyError):
            if json.loads(said)["round"] > 0:
                return
        reason = await self._container.transfer.complaint()
        raise HypervisorError(f"{self._container.name}: its state did not get there: {reason}; {printable(said, 200)}")

    async def end(self) -> None:
        """End the session. The other end needs nothing more."""
        with suppress(HypervisorError):
            await self._say("")

    async def _say(self, line: str) -> str:
        try:
            with short(self._folder / SOCKET) as path:
                reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(line.encode() + b"\n")
                return (await reader.read(1 << 12)).decode(errors="replace").strip()
            finally:
                writer.close()
        except OSError as error:
            complaint = await self._container.transfer.complaint()
            raise HypervisorError(f"{self._container.name}: {complaint} ({error.strerror})") from error

    async def _status(self) -> Status:
        found = await self._container.transfer.status()
        if found is None or found["phase"] == "failed":
            raise HypervisorError(f"{self._container.name}: {await self._container.transfer.complaint()}")
        return found


def _figures(status: Status, began: float, number: int, work: int, done: bool) -> Figures:
    stream = status["stream"]
    return Figures(
        seconds=monotonic() - began,
        done=stream,
        total=stream if done else max(stream, work),
        bandwidth=status["bandwidth"] * 8,
        rounds=number,
        **figures(status),
    )


def _bytes(folders: Sequence[Path]) -> int:
    """Return the bytes of all files in folders, which may be changing."""
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                with suppress(OSError):
                    total += (Path(parent) / name).lstat().st_size
    return total
