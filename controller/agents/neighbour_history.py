"""Rolling up the history of neighbours, one cloudlet after the other."""

import asyncio
from datetime import datetime, timedelta

from controller.core.clock import now
from controller.core.neighbour_history import DAY, HOUR, LATE, ROUND, Summary, kept, rolled, start
from controller.db import neighbour_history, reporters
from controller.db.engine import Database

LONGEST = timedelta(hours=6)
"""The longest time that is rolled up at once."""

SLICE = 50
"""Neighbours whose rows are read before other tasks run: 3,000 rounds of an hour."""

Summaries = dict[tuple[str, str, datetime], Summary]


async def roll_up(database: Database, cloudlet: str, probe_seconds: float) -> None:
    """Roll a cloudlet's rounds up into hours and its hours into days, and delete what is too old. If new rounds have
    come in since they were read, nothing is written and the next call tries again. Repeating a call changes nothing."""
    async with database.read() as session:
        before = await reporters.get(session, cloudlet)
    if before is None:
        return
    since = before.rolled_until
    until = min(start(now() - LATE, HOUR), since + LONGEST)
    if since >= until:
        return
    hours = await _summaries(database, cloudlet, HOUR, since, until)
    async with database.write() as session:
        if (await reporters.locked(session, [cloudlet])).get(cloudlet) != before:
            return
        await neighbour_history.clear(session, cloudlet, HOUR, since, until)
        await neighbour_history.add(session, HOUR, hours)
    first, last = start(since, DAY), start(until, DAY)
    days = await _summaries(database, cloudlet, DAY, first, last)
    async with database.write() as session:
        if (await reporters.locked(session, [cloudlet])).get(cloudlet) != before:
            return
        await neighbour_history.clear(session, cloudlet, DAY, first, last)
        await neighbour_history.add(session, DAY, days)
        for span, done in ((ROUND, until), (HOUR, last), (DAY, last)):
            await neighbour_history.forget(session, cloudlet, span, min(done, now() - kept(span, probe_seconds)))
        await reporters.rolled(session, cloudlet, until)


async def _summaries(database: Database, cloudlet: str, span: int, since: datetime, until: datetime) -> Summaries:
    """Return the summaries of the hours or days (`span`) of a time, made from those of the next finer span."""
    found: Summaries = {}
    finer = ROUND if span == HOUR else HOUR
    async with database.read() as session:
        measured = await neighbour_history.measured(session, cloudlet, finer, since, until)
        for number in range(0, len(measured), SLICE):
            names = measured[number : number + SLICE]
            parts: dict[tuple[str, datetime], list[Summary]] = {}
            for name, at, summary in await neighbour_history.between(session, cloudlet, names, finer, since, until):
                parts.setdefault((name, start(at, span)), []).append(summary)
            found |= {(cloudlet, name, at): rolled(those) for (name, at), those in parts.items()}
            await asyncio.sleep(0)
    return found
