"""Reports on neighbours: written to the database, with events about neighbours that appear or are lost.

A report is answered when it is committed, so no answered report is ever lost, and agents send the others again. Reports
of the same second share one transaction."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from controller.agents.neighbour_history import roll_up
from controller.core.clock import now
from controller.core.event_budget import of_cloudlet
from controller.core.intent import Intent
from controller.core.neighbour_arrivals import Arrival, Arrivals
from controller.core.neighbour_history import HOUR, LATE, ROUND, start
from controller.core.neighbour_reports import Intake, Pair
from controller.db import (
    bandwidths,
    host_loads,
    initiators,
    neighbour_history,
    neighbours,
    platforms,
    reporters,
    stored_images,
)
from controller.db.engine import Database
from controller.runtime.event_log import EventLog
from controller.runtime.metrics import Metrics
from controller.runtime.problems import Problem
from controller.wire.neighbours import NeighbourReport

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds that a report waits at most for others to join its transaction."""

MOST_WAITING = 50_000
"""Most rounds that wait for the database. An agent that brings more is told to come again later."""

AGAIN = 10
"""Seconds after which an agent should send a report again."""

ROLLED_AT_ONCE = 10
"""Reporters whose history is rolled up in one sweep, so that 1,000 of them take less than ten minutes."""

FORGOTTEN = timedelta(days=1)
"""Time after which a pair that no agent measures any more is not shown as stale either."""

CLEAN = 12
"""Number of sweeps from one removal of rows of deleted cloudlets to the next."""


class Neighbours:
    """Takes in reports (`run`) on every controller, and checks the neighbours of the whole region (`sweep`) on one."""

    def __init__(self, database: Database, intent: Callable[[], Intent], event_log: EventLog, metrics: Metrics) -> None:
        self._database, self._intent, self._event_log, self._metrics = database, intent, event_log, metrics
        self._arrivals = Arrivals()
        self._work = asyncio.Event()
        self._turn = 0

    async def take(self, report: NeighbourReport) -> None:
        """Take in a report; return when it is committed. Raises Problem (503) if it was not; the agent then sends it
        again."""
        if self._arrivals.size > MOST_WAITING:
            raise _later("Too many reports are waiting for the database.")
        arrival = Arrival(report, now(), asyncio.get_running_loop().create_future())
        self._arrivals.add(arrival)
        self._work.set()
        await arrival.done

    async def run(self, stopping: asyncio.Event) -> None:
        """Write reports until cancelled. When the controller stops, waiting agents are answered at once."""
        while True:
            await self._work.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._arrivals.pause(now(), PAUSE)):
                    await stopping.wait()
            await self._write_portion()

    async def flush(self) -> None:
        """Write all reports that wait."""
        while self._arrivals:
            await self._write_portion()

    async def _write_portion(self) -> None:
        await self._commit(self._arrivals.portion(now()))
        if not self._arrivals:
            self._work.clear()

    async def _commit(self, arrivals: list[Arrival]) -> None:
        try:
            await self._write(arrivals)
        except Exception:  # the agents send these reports again
            log.exception("%d reports on neighbours could not be written", len(arrivals))
            for arrival in arrivals:
                if not arrival.done.done():
                    arrival.done.set_exception(_later("The database does not take the report now."))
            return
        for arrival in arrivals:
            if not arrival.done.done():
                arrival.done.set_result(None)

    async def _write(self, arrivals: list[Arrival]) -> None:
        intent, names = self._intent(), {arrival.report.cloudlet for arrival in arrivals}
        async with self._database.write() as session:
            heard = await reporters.locked(session, names)
            current = await neighbours.of(session, names)
            intake = Intake(intent.policy.neighbours, intent.cloudlets, now(), dict(heard), current)
            for arrival in arrivals:
                intake.take(arrival.report, arrival.at)
            await neighbours.save(session, intake.added, intake.changed)
            await neighbour_history.add(session, ROUND, intake.rounds)
            await reporters.save(session, heard, {name: intake.reporters[name] for name in names})
        self._metrics.neighbour_reports.inc(len(arrivals))
        for outcome in ("repeated", "unknown", "too_old"):
            self._metrics.neighbour_rounds.labels(outcome).inc(getattr(intake, outcome))
        self._metrics.neighbour_rounds.labels("kept").inc(len(intake.rounds))
        self._tell(intake.news(), "answers with too long a delay, or too seldom")

    def _tell(self, news: Iterable[tuple[Pair, bool]], why: str) -> None:
        """Note an event for each cloudlet with news."""
        changes: dict[tuple[str, bool], list[str]] = {}
        for (of, to), possible in news:
            changes.setdefault((of, possible), []).append(to)
        for (of, possible), names in changes.items():
            text = f"{of}: {_sentence(names, possible)}" + ("" if possible else f": {why}")
            kind = "neighbour-possible" if possible else "neighbour-lost"
            self._event_log.note(kind, of, text, caused_by=of_cloudlet(of), neighbours=sorted(names))

    async def sweep(self) -> None:
        """Remove silent neighbours from the possible ones, roll history up, and now and then delete the rows of deleted
        cloudlets. One controller of a region runs this, every few seconds."""
        async with self._database.read() as session:
            counts = await neighbours.counts(session, now())
            overdue = await neighbours.any_silent(session, now())
            due = await reporters.due(session, start(now() - LATE, HOUR), ROLLED_AT_ONCE)
        for state, number in counts.items():
            self._metrics.neighbours.labels(state).set(number)
        if overdue:
            async with self._database.write() as session:
                silent = await neighbours.silence(session, now())
            self._tell(((pair, False) for pair in silent), "nothing was heard of them")
        for cloudlet in due:
            await roll_up(self._database, cloudlet, self._intent().policy.neighbours.probe_seconds)
        self._turn += 1
        if self._turn % CLEAN == 1:
            await self._clean()

    async def _clean(self) -> None:
        cloudlets = self._intent().cloudlets
        async with self._database.read() as session:
            gone = (await neighbours.named(session) | await reporters.names(session)) - cloudlets.keys()
        async with self._database.write() as session:
            await neighbours.forget(session, gone, now() - FORGOTTEN)
            if gone:
                await reporters.forget(session, gone)
                await bandwidths.forget(session, gone)
                await platforms.forget(session, gone)
                await host_loads.forget(session, gone)
                await stored_images.forget(session, gone)
                await initiators.forget(session, gone)
        for name in gone:
            async with self._database.write() as session:
                await neighbour_history.forget_all(session, name)


def _later(detail: str) -> Problem:
    return Problem(503, detail, headers={"Retry-After": str(AGAIN)})


def _sentence(names: list[str], possible: bool) -> str:
    """Return `a is a possible neighbour now`; for many names, the first few and the number of others."""
    ordered = sorted(names)
    what, when = ("possible", "now") if possible else ("no possible", "any more")
    if len(ordered) == 1:
        return f"{ordered[0]} is {'a ' if possible else ''}{what} neighbour {when}"
    last = ordered[-1] if len(ordered) <= 4 else f"{len(ordered) - 3} others"
    return f"{', '.join(ordered[: min(len(ordered) - 1, 3)])} and {last} are {what} neighbours {when}"
