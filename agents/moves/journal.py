"""The data about moves that a restart must not lose: one file for each move, on the disk before anybody hears of it."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from agents.hypervisors.hypervisor import HypervisorError
from agents.storage.state import StateDirectory, StateError
from controller.wire.model import Message
from controller.wire.moves import Order, Progress

log = logging.getLogger(__name__)

MOST = 200
"""Number of moves that are remembered. By their orders' numbers the agent does not carry out orders that a newer one
has replaced."""


class JournalEntry(Message):
    """The last order of a move. `begun`: where the machine runs depends on this order. `outcome`: how the order ended;
    `told`: the controller knows that. `made`: this move, an initiation, has started the machine here."""

    order: Order
    begun: bool = False
    outcome: Progress | None = None
    told: bool = False
    made: Annotated[bool, Field(exclude_if=lambda made: not made)] = False


class Journal:
    """The moves of one cloudlet, in files below `directory`. A file that cannot be read is logged and ignored.
    `counted` gets each outcome, once."""

    def __init__(
        self, directory: Path, cloudlet: str, counted: Callable[[Progress], None] = lambda _outcome: None
    ) -> None:
        self._state, self._counted = StateDirectory(directory, cloudlet), counted
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
        """Return the entry of a move; None if there is none."""
        return self._entries.get(move)

    def open(self) -> list[JournalEntry]:
        """Return the entries of orders that decide where a machine runs and that the end of the agent interrupted."""
        return [entry for entry in self._entries.values() if open_fence(entry)]

    async def taken(self, order: Order) -> None:
        """Note that the order is being carried out: no older order of its move will be. Raises HypervisorError."""
        await self._keep(JournalEntry(order=order, made=self.made(order.move)))

    def made(self, move: str) -> bool:
        """Return whether that move has started its machine here."""
        entry = self._entries.get(move)
        return entry is not None and entry.made

    async def make(self, order: Order) -> None:
        """Note that the move of this order, which is being carried out, starts its machine here. Raises
        HypervisorError."""
        await self._keep(JournalEntry(order=order, made=True))

    async def begun(self, order: Order) -> None:
        """Note that from now on the place of the machine depends on the order. Raises HypervisorError."""
        await self._keep(JournalEntry(order=order, begun=True, made=self.made(order.move)))

    async def ended(self, outcome: Progress, told: bool = False) -> None:
        """Note how the order ended. If this does not get to the disk, work is done again, but nothing becomes wrong."""
        entry = self._entries.get(outcome.move)
        if entry is not None and entry.order.number == outcome.number:
            if entry.outcome is None:
                self._counted(outcome)
            try:
                await self._keep(entry.model_copy(update={"outcome": outcome, "told": told}))
            except HypervisorError as error:
                log.error("move %s: %s", outcome.move, error)

    async def close(self) -> None:
        """Wait until everything is on the disk."""
        async with self._writing:
            pass

    async def _keep(self, entry: JournalEntry) -> None:
        # A caller that stops waiting does not stop the write, and the next write must not overtake it.
        await asyncio.shield(asyncio.ensure_future(self._write(entry)))

    async def _write(self, entry: JournalEntry) -> None:
        async with self._writing:
            try:
                await asyncio.to_thread(self._state.write, f"{entry.order.move}.json", entry.model_dump_json())
            except StateError as error:
                raise HypervisorError(f"the agent cannot write its journal: {error}") from error
            self._entries[entry.order.move] = entry


def open_fence(entry: JournalEntry) -> bool:
    """Return whether the machine may have to be held."""
    return entry.begun and not entry.told
