"""Neighbour reports that wait for the database, and the choice of those that share the next transaction. Pure."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.wire.neighbours import NeighbourReport

MOST_AT_ONCE = 500
"""Rounds in one transaction, more or less: those of 1,000 agents in a second, since each transaction has its own cost.
With SQLite, which has one writer, a change of the intent waits for one transaction at most, some 50 ms, however large
the region is."""

OVERDUE = timedelta(seconds=10)
"""The time after which a report goes before shorter ones."""


@dataclass(frozen=True)
class Arrival:
    """A report that arrived at the time `at` and waits for the database. `done` is set when it is written."""

    report: NeighbourReport
    at: datetime
    done: "asyncio.Future[None]"

    @property
    def size(self) -> int:
        """The size in rounds; a report without any costs as well, and counts as one."""
        return max(1, len(self.report.measurements))


class Arrivals:
    """The waiting reports in their order of arrival. Falsy if none waits; `size` is that of all."""

    def __init__(self) -> None:
        self._waiting: list[Arrival] = []
        self.size = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, arrival: Arrival) -> None:
        """Add a report."""
        self._waiting.append(arrival)
        self.size += arrival.size

    def pause(self, now: datetime, pause: float) -> float:
        """Return the seconds until the oldest report has waited for `pause`: the time spent on writing others is not
        added to its own. At least one report must be waiting."""
        return min(pause, max(0.0, pause - (now - self._waiting[0].at).total_seconds()))

    def portion(self, now: datetime) -> list[Arrival]:
        """Remove and return the reports of the next transaction. A cloudlet that brings less goes before one that
        brings more, so that nobody waits for another's long report, unless that is overdue; the reports of one cloudlet
        stay in their order. At least one report must be waiting."""
        brought, overdue = Counter[str](), set[str]()
        for arrival in self._waiting:
            brought[arrival.report.cloudlet] += arrival.size
            if now - arrival.at > OVERDUE:
                overdue.add(arrival.report.cloudlet)

        def turn(arrival: Arrival) -> tuple[bool, int]:
            return arrival.report.cloudlet not in overdue, brought[arrival.report.cloudlet]

        taken, size = list[Arrival](), 0
        for arrival in sorted(self._waiting, key=turn):
            if taken and size + arrival.size > MOST_AT_ONCE:
                break
            taken.append(arrival)
            size += arrival.size
        gone = set(map(id, taken))
        self._waiting = [arrival for arrival in self._waiting if id(arrival) not in gone]
        self.size -= size
        return taken
