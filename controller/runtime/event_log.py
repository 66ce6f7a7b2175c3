"""The event log. It writes the events of route servers and agents to the database in batches, so that a storm of events
costs few transactions and delays nothing else."""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Any

from controller.core.event_budget import HELD, of_pe
from controller.core.unavailable import Unavailable
from controller.db import events, routeservers
from controller.db.engine import Database, Lock, alone
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

PAUSE = 0.05
"""Seconds in which further events join a batch."""

RETRY = 1.0
"""Seconds between two attempts to write while the database is away."""

BATCH = 500
WAITING = 10_000
"""Most events that wait to be written. Further ones are dropped and counted; a route server keeps its own count too."""


@dataclass(frozen=True)
class ServerEvent:
    """An event that a route server saw. `number` grows for as long as that server runs."""

    number: int
    type: str
    data: dict[str, Any]


@dataclass(frozen=True)
class PendingEvent:
    """An event that waits to be written. `origin` is set for a route server's event: its name, its start, and the
    event's number there. `source`: the cause outside of the controller."""

    type: str
    subject: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    origin: tuple[str, str, int] | None = None
    source: str | None = None


class EventLog:
    """Writes events in order, each source within its budget; `wakeup` rings after each batch."""

    def __init__(self, database: Database, wakeup: Wakeup) -> None:
        self._database, self.wakeup = database, wakeup
        self._queue: asyncio.Queue[PendingEvent] = asyncio.Queue(WAITING)
        self._batch: list[PendingEvent] = []
        self.dropped = 0

    def note(self, type: str, subject: str, text: str, /, *, caused_by: str | None = None, **data: Any) -> None:
        """Have an event written soon. `caused_by`: see `db/events.py: add`."""
        self._admit(PendingEvent(type, subject, text, data, source=caused_by))

    def tell_held(self, *, leading: bool, all_: bool = False) -> None:
        """Note the number of events held back for a while, one event for each source. Every replica hears of the acts
        of PEs, so only the leader notes those."""
        for source, held in self._database.event_budget.due(time.monotonic(), all_=all_):
            if leading or not source.startswith(of_pe("")):
                self._put(PendingEvent(HELD, source, held.text(source), held.data(), source=source))

    async def heard(self, server: str, started_at: str, event: ServerEvent) -> None:
        """Take over an event of a route server, unless it reports a change that was made here."""
        if event.type == "generation":
            return
        subject = str(event.data.get("peer") or event.data.get("endpoint") or server)
        text = str(event.data.get("text") or f"{server}: {event.type} {subject}")
        data = {**event.data, "route_server": server}
        peer = event.data.get("peer")
        source = of_pe(str(peer)) if peer else None
        self._admit(
            PendingEvent(event.type or "event", subject, text, data, (server, started_at, event.number), source)
        )

    async def last_heard(self, server: str, started_at: str) -> int:
        """Return the number of the last event that was taken over from this run of a route server."""
        async with self._database.read() as session:
            return await routeservers.last_event(session, server, started_at)

    def turned(self, server: str, reachable: bool, reason: str) -> None:
        """Note that a route server came or went."""
        if reachable:
            self.note("route-server-reachable", server, f"{server} is reachable and at the current generation")
        else:
            self.note("route-server-unreachable", server, f"{server} is not reachable: {reason}", reason=reason)

    def _admit(self, entry: PendingEvent) -> None:
        budget, source = self._database.event_budget, entry.source
        if source is None or budget.admit(source, entry.type, entry.text, time.monotonic()):
            self._put(entry)

    def _put(self, entry: PendingEvent) -> None:
        try:
            self._queue.put_nowait(entry)
        except asyncio.QueueFull:
            self.dropped += 1

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            self._batch = [await self._queue.get()]
            await asyncio.sleep(PAUSE)
            while not self._queue.empty() and len(self._batch) < BATCH:
                self._batch.append(self._queue.get_nowait())
            try:
                await self._insist()
            except Exception:  # a batch that cannot be written must not stop the next ones
                log.exception("%d events could not be written", len(self._batch))
                self.dropped += len(self._batch)
            self._batch = []

    async def _insist(self) -> None:
        """Write the batch, and try again for as long as the database is away."""
        while True:
            try:
                return await self._write(self._batch)
            except Unavailable as away:
                log.warning("%d events cannot be written yet: %s", len(self._batch), away)
                await asyncio.sleep(RETRY)

    async def flush(self) -> None:
        """Write the events that are left, when the controller stops and `run` has ended."""
        batch = self._batch + [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        if batch:
            await self._write(batch)

    async def _write(self, batch: list[PendingEvent]) -> None:
        """Write a batch. A route server's event is written once, even if another replica now follows that server."""
        async with self._database.write() as session:
            await alone(session, Lock.EVENTS)
            taken: dict[tuple[str, str], int] = {}
            for entry in batch:
                if entry.origin:
                    server, started_at, number = entry.origin
                    run = (server, started_at)
                    if run not in taken:
                        taken[run] = await routeservers.last_event(session, *run)
                    if number <= taken[run]:
                        continue
                    taken[run] = number
                await events.put(session, entry.type, entry.subject, entry.text, entry.data, entry.source)
            for (server, started_at), number in taken.items():
                await routeservers.note_event(session, server, started_at, number)
        self.wakeup.ring()
