"""What a restart must not lose about moves: one file each, on the disk before anybody hears of it."""

import asyncio
import logging
from pathlib import Path

from pydantic import ValidationError

from agents.hypervisors.hypervisor import HypervisorError
from agents.storage.state import StateDirectory, StateError
from controller.wire.model import Message
from controller.wire.moves import Order, Progress

log = logging.getLogger(__name__)

MOST = 200
"""Moves that are remembered: their numbers keep orders that were overtaken from being carried out."""


class JournalEntry(Message):
    """The last order of a move. `begun`: where the machine runs depends on it; `outcome` is how it ended, and `told`
    that the controller has that."""

    order: Order
    begun: bool = False
    outcome: Progress | None = None
    told: bool = False


class Journal:
    """The moves of one cloudlet, below `directory`. What cannot be read is as if it were not there, and said so."""

    def __init__(self, directory: Path, cloudlet: str) -> None:
        self._state = StateDirectory(directory, cloudlet)
        self._writing = asyncio.Lock()
        files = sorted(directory.glob("*.json"), key=lambda path: path.stat().st_mtime)
        self._entries: dict[str, JournalEntry] = {}
        for path in files:
            try:
                self._entries[path.stem] = JournalEntry.model_validate_json(self._state.read(path.name) or "")
            except (ValidationError, StateError) as error:
                log.error("%s: not a move: %s", path, error)
        for path in files[:-MOST]:
            if (entry := self._entries.get(path.stem)) is None or not open_fence(entry):
                path.unlink(missing_ok=True)
                self._entries.pop(path.stem, None)

    def entry(self, move: str) -> JournalEntry | None:
        """What is known of a move."""
        return self._entries.get(move)

    def open(self) -> list[JournalEntry]:
        """Those that an end of the agent has interrupted where it matters who runs the machine."""
        return [entry for entry in self._entries.values() if open_fence(entry)]

    async def taken(self, order: Order) -> None:
        """It is being carried out, and no older order of its move will be. Raises HypervisorError."""
        await self._keep(JournalEntry(order=order))

    async def begun(self, order: Order) -> None:
        """From now on the machine's place depends on it. Raises HypervisorError."""
        await self._keep(JournalEntry(order=order, begun=True))

    async def ended(self, outcome: Progress, told: bool = False) -> None:
        """It has ended so. Not to have that on the disk costs work and not truth."""
        entry = self._entries.get(outcome.move)
        if entry is not None and entry.order.number == outcome.number:
            try:
                await self._keep(entry.model_copy(update={"outcome": outcome, "told": told}))
            except HypervisorError as error:
                log.error("move %s: %s", outcome.move, error)

    async def close(self) -> None:
        """Returns when all is on the disk."""
        async with self._writing:
            pass

    async def _keep(self, entry: JournalEntry) -> None:
        # Whoever gives up waiting does not stop the write, and the next one must not overtake it.
        await asyncio.shield(asyncio.ensure_future(self._write(entry)))

    async def _write(self, entry: JournalEntry) -> None:
        async with self._writing:
            try:
                await asyncio.to_thread(self._state.write, f"{entry.order.move}.json", entry.model_dump_json())
            except StateError as error:
                raise HypervisorError(f"the agent cannot write down what it does: {error}") from error
            self._entries[entry.order.move] = entry


def open_fence(entry: JournalEntry) -> bool:
    """Whether the machine may have to be held."""
    return entry.begun and not entry.told
