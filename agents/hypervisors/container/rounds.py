"""Rounds: images of a container's memory and its files, again and again, until what has changed since the round before
fits into a pause (Ma et al., section 4: dirty memory goes in rounds, and only the top layer goes)."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from agents.answer import printable
from agents.hypervisors.container.container import SOCKET, Container
from agents.hypervisors.container.dumps import EARLIER, MEMORY, MOST, Dumps
from agents.hypervisors.container.guest import GUEST
from agents.hypervisors.container.rootfs import UPPER
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.short_path import short
from agents.hypervisors.weft_transfer import Status, figures
from controller.wire.moves import Figures

LAST = (UPPER, MEMORY, GUEST)
"""The folders that the last round carries."""

TREES = (*LAST, *EARLIER)
"""All folders that a move carries."""

_PAGE = 4096
_SHRINKS = 0.7  # of the round before; else the container writes as fast as the line carries
_SAY = 0.5  # seconds between two figures


@dataclass(frozen=True)
class Round:
    """A round that has been sent. Its dump was made `at` a monotonic time, and has `memory` bytes of pages. Of
    these, `written` were not at the other end; all of it took `wire` bytes and `seconds`. `checked`: CRIU has looked at
    everything that the container has, and not at its memory alone."""

    at: float
    memory: int
    wire: int
    written: int
    seconds: float
    checked: bool = True


def enough(done: Sequence[Round], downtime: float) -> bool:
    """Return whether the next round goes in the pause: it fits into `downtime` seconds, as far as the last one tells;
    rounds get no shorter; or there have been enough. CRIU finds what it cannot restore before. Pure."""
    if not done or not done[-1].checked:
        return False
    if len(done) == MOST:
        return True
    rate = max(one.wire / one.seconds for one in done)  # the first round's, as a rule: later ones wait for hashes
    return done[-1].wire <= downtime * rate or (len(done) > 1 and done[-1].wire > _SHRINKS * done[-2].wire)


def dirty_rate(done: Sequence[Round]) -> float | None:
    """Return the bytes of pages that the container writes in a second; None if no round tells. Pure."""
    return done[-1].written / (done[-1].at - done[-2].at) if len(done) > 1 else None


class Rounds:
    """The rounds of a container's move over its weft-transfer, which has met the other end."""

    def __init__(self, container: Container) -> None:
        self._container, self._folder = container, container.folder
        self._dumps = Dumps(container.folder)

    async def converge(self, downtime: float, tracked: bool) -> AsyncIterator[Figures]:
        """Send rounds until the next one fits into `downtime` seconds, and yield figures. `tracked`: the kernel notes
        which pages are written. Raises Refused if CRIU does not know a state that the container has, and
        HypervisorError."""
        began, done = monotonic(), list[Round]()
        await asyncio.to_thread(self._dumps.clear)  # the other end has none of those before
        while not enough(done, downtime):
            memory = tracked and not done
            name = await self.dump(tracked=tracked, memory=memory)
            at, before = monotonic(), await self._status()
            work = await asyncio.to_thread(_bytes, [self._folder / UPPER, self._folder / name])
            pages = sum(path.stat().st_size for path in (self._folder / name).glob("pages-*.img"))
            sending = asyncio.create_task(self.send((UPPER, name)))
            try:
                while not sending.done():
                    await asyncio.wait({sending}, timeout=_SAY)
                    yield _figures(await self._status(), began, len(done) + 1, work, done=False)
                await sending
            finally:
                sending.cancel()
            after = await self._status()
            written = _sent(after) - _sent(before)
            wire, seconds = after["wire"] - before["wire"], monotonic() - at
            done.append(Round(at, pages, wire, written, seconds, checked=not memory))
        last = _figures(await self._status(), began, len(done), work, done=True)
        yield last.model_copy(update={"memory_used": done[0].memory, "dirty_rate": dirty_rate(done)})

    async def dump(self, *, last: bool = False, tracked: bool = False, memory: bool = False) -> str:
        """Make a dump of the container, and return its name; the `last` one has its connections too. With `tracked`, it
        is the next one's parent. With `memory`, it has the container's memory alone, and hardly stops it."""
        name, parent = await asyncio.to_thread(self._dumps.begin, last or not tracked)
        await self._container.runtime.dump(self._folder / name, parent, last=last, memory=memory)
        self._dumps.end()
        return name

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


def _sent(status: Status) -> int:
    """Return the bytes of pages that the other end did not have."""
    return sum(status["pages"].get(kind, 0) for kind in ("delta", "literal")) * _PAGE


def _bytes(folders: Sequence[Path]) -> int:
    """Return the bytes of all files in folders, which may be changing."""
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                with suppress(OSError):
                    total += (Path(parent) / name).lstat().st_size
    return total
