"""Reports on neighbours that wait for the database, and which of them share the next transaction. Pure."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.wire.neighbours import NeighbourReport

MOST_AT_ONCE = 500
"""Rounds in one transaction, more or less: a second's of 1,000 agents, since each transaction costs by itself. With
SQLite, which has one writer, a change of the intent waits for one at most, some 50 ms, however large the region is."""

OVERDUE = timedelta(seconds=10)
"""After which a report goes before shorter ones."""


@dataclass(frozen=True)
class Arrival:
    """A report that came `at` this time and waits for the database. `done` is set when it has it."""

    report: NeighbourReport
    at: datetime
    done: "asyncio.Future[None]"

    @property
    def size(self) -> int:
        """In rounds; a report without any costs as well."""
        return max(1, len(self.report.measurements))


class Arrivals:
    """In the order in which they came. Falsy if none waits; `size` is that of all."""

    def __init__(self) -> None:
        self._waiting: list[Arrival] = []
        self.size = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, arrival: Arrival) -> None:
        """One more waits."""
        self._waiting.append(arrival)
        self.size += arrival.size

    def pause(self, now: datetime, pause: float) -> float:
        """Seconds until the one that has waited longest has waited for `pause`: what is written meanwhile for others
        is not added to its time. Some must wait."""
        return min(pause, max(0.0, pause - (now - self._waiting[0].at).total_seconds()))

    def portion(self, now: datetime) -> list[Arrival]:
        """Takes out what shares the next transaction. A cloudlet that brings less goes before one that brings more, so
        that nobody waits for another's long report, unless that is overdue; the reports of one cloudlet stay in their
        order. Some must wait."""
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
