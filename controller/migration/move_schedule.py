"""Moves that begin at a time: once, as users schedule them, or again and again, as the policy's `migration.schedule`
says ("follow the sun": CloudNet, section 1). Only the leader begins them; any replica takes requests."""

import asyncio
import logging
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.auth.audit_context import CONTROLLER, acts
from controller.changes.flow import Changes
from controller.core.clock import now
from controller.core.policy.model import ScheduledMoves
from controller.core.recurrence import upcoming
from controller.core.refusals import Refused, conflict, invalid, missing, unknown
from controller.db import events, names
from controller.db import scheduled_moves as table
from controller.db.engine import Database
from controller.db.scheduled_moves import POLICY, ScheduledMoveRow
from controller.migration.moves import Moves
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

LOOK = 5.0
"""Seconds between two looks at what is due."""

LATE = timedelta(minutes=15)
"""Time for which a move is tried again that cannot begin, and after which one counts as missed that nobody tried."""

FARTHEST = timedelta(days=366)
"""Time ahead for which users can schedule a move."""

MOST = 10_000
"""Moves that may wait for their time."""

REMEMBERED = timedelta(days=90)

Key = tuple[str, str, datetime]


class MoveSchedule:
    """Any replica may call `add` and `cancel`; the leader runs `run`, and `prune` now and then."""

    def __init__(self, database: Database, changes: Changes, moves: Moves, wakeup: Wakeup) -> None:
        self._database, self._changes, self._moves, self._wakeup = database, changes, moves, wakeup
        self._next: dict[str, datetime | None] = {}
        self._written: dict[ScheduledMoves, datetime] | None = None
        """The policy's schedule whose next moves wait."""

    async def add(
        self, vm: str, endpoint: str, at: datetime, *, keep: bool, copied_before: int, reason: str, asked_by: str
    ) -> ScheduledMoveRow:
        """Schedule a move of a VM. Raises Refused."""
        if not now() < at <= now() + FARTHEST:
            raise invalid("at", f"{at.isoformat()} is not within the next {FARTHEST.days} days")
        if endpoint not in self._changes.intent.endpoints:
            raise unknown("endpoint", "endpoint", endpoint, self._changes.intent.endpoints)
        async with self._database.write() as session:
            if not await names.there(session, "VM", vm):
                raise await names.unknown(session, "vm", "VM", vm)
            if await table.known(session, [(vm, endpoint, at)]):
                raise conflict(f"{vm} is to move to {endpoint} at that time already", "at")
            if await table.count(session) >= MOST:
                raise conflict(f"{MOST:,} moves wait for their time already", "at")
            row = _row((vm, endpoint, at), keep, copied_before, reason, asked_by)
            session.add(row)
            text = f"{row.name}: {vm} is to move to {endpoint} at {at.isoformat()}"
            data = {"vm": vm, "endpoint": endpoint, "at": at.isoformat()}
            await events.add(session, "move-scheduled", row.name, f"{text}: {reason}" if reason else text, **data)
        self._wakeup.ring()
        return row

    async def cancel(self, name: str) -> ScheduledMoveRow:
        """Cancel a move that has not begun. Raises Refused."""
        async with self._database.write() as session:
            row = await table.get(session, name, lock=True)
            if row is None:
                raise missing("scheduled move", name)
            if row.state != "waiting":
                raise conflict(f"{name} waits no more: it is {row.state}")
            row.state = "cancelled"
            text = f"{name}: {row.vm} is not to move to {row.endpoint} at {row.at.isoformat()} any more"
            await events.add(session, "move-unscheduled", name, text, vm=row.vm)
        self._wakeup.ring()
        return row

    async def run(self) -> None:
        """Begin moves at their times, until cancelled. Only the leader does this."""
        self._written = None
        while True:
            try:
                await self.look()
            except Exception:  # the next look may succeed
                log.exception("scheduled moves")
            await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Write down the next moves of the policy's schedule, and begin what is due."""
        if (wanted := dict(self._coming())) != self._written:
            await self._write({(vm, one.endpoint, at): one for one, at in wanted.items() for vm in one.vms})
            self._written = wanted
        async with self._database.read() as session:
            rows = await table.due(session, now())
        for row in rows:
            if row.at <= now():
                await self._begin(row)
            else:
                await self._copy(row)

    async def _write(self, wanted: dict[Key, ScheduledMoves]) -> None:
        """Have those moves of the policy's schedule wait for their times, and no others."""
        async with self._database.write() as session:
            for row in await table.coming(session, POLICY, now()):
                if not _as_wanted(row, wanted):
                    await session.delete(row)
            await session.flush()
            for key in sorted(wanted.keys() - await table.known(session, wanted.keys())):
                one = wanted[key]
                session.add(_row(key, one.keep, one.copied_before, f"the policy's schedule, {one.cron}", POLICY))
        self._wakeup.ring()

    def _coming(self) -> Iterator[tuple[ScheduledMoves, datetime]]:
        """Yield each entry of the policy's schedule with its next time."""
        schedule, at = self._changes.intent.policy.migration.schedule, now()
        known = {cron: time for cron, time in self._next.items() if time is None or time > at}
        self._next = {one.cron: known.get(one.cron) or upcoming(one.cron, at) for one in schedule}
        for one in schedule:
            if (time := self._next[one.cron]) is not None:
                yield one, time

    async def _copy(self, row: ScheduledMoveRow) -> None:
        """Begin the copy ahead of a move. A move that cannot be copied ahead moves all the same."""
        try:
            with acts(CONTROLLER, "move", f"{row.name}: a copy of {row.vm} to {row.endpoint}"):
                made = await self._moves.prepare(row.vm, row.endpoint, asked_by=row.name, reason=row.reason)
            copy, detail = made.name, ""
        except Refused as refused:
            copy, detail = "", f"no copy ahead of time: {refused.message}"
        async with self._database.write() as session:
            await _change(session, row.name, copy_ahead=copy, detail=detail)

    async def _begin(self, row: ScheduledMoveRow) -> None:
        async with self._database.read() as session:
            present = await table.get(session, row.name)
        if present is None or present.state != "waiting":
            return None  # an operator has cancelled it meanwhile
        late = now() - row.at > LATE
        if late and not row.tried:
            return await self._over(row, "missed", "no controller ran at that time")
        try:
            with acts(CONTROLLER, "move", f"{row.name}: {row.vm} to {row.endpoint}"):
                made = await self._moves.start(
                    row.vm, row.endpoint, keep=row.keep, asked_by=row.name, reason=row.reason or "it was scheduled"
                )
        except Refused as refused:
            if not late:
                async with self._database.write() as session:
                    await _change(session, row.name, detail=refused.message, tried=True)
                return None
            return await self._over(row, "refused", refused.message)
        async with self._database.write() as session:
            await _change(session, row.name, state="begun", move=made.name, detail="")
        return None

    async def _over(self, row: ScheduledMoveRow, state: str, why: str) -> None:
        text = f"{row.name}: {row.vm} did not move to {row.endpoint} at {row.at.isoformat()}: {why}"
        async with self._database.write() as session:
            if await _change(session, row.name, state=state, detail=why):
                await events.add(session, f"move-{state}", row.name, text, vm=row.vm, endpoint=row.endpoint)
        self._wakeup.ring()

    async def prune(self) -> None:
        """Delete scheduled moves whose time was long ago."""
        async with self._database.write() as session:
            await table.prune(session, now() - REMEMBERED)


def _row(key: Key, keep: bool, copied_before: int, reason: str, asked_by: str) -> ScheduledMoveRow:
    vm, endpoint, at = key
    row = ScheduledMoveRow(name=f"scheduled-{secrets.token_hex(5)}", vm=vm, endpoint=endpoint, at=at, keep=keep)
    row.copied_before, row.reason, row.asked_by = copied_before, reason[:200], asked_by[:63]
    return row


def _key(row: ScheduledMoveRow) -> Key:
    return row.vm, row.endpoint, row.at


def _as_wanted(row: ScheduledMoveRow, wanted: dict[Key, ScheduledMoves]) -> bool:
    one = wanted.get(_key(row))
    return one is not None and (one.keep, one.copied_before) == (row.keep, row.copied_before)


async def _change(session: AsyncSession, name: str, detail: str, **values: str | bool) -> bool:
    """Change a row that still waits; return whether it does."""
    row = await table.get(session, name, lock=True)
    if row is None or row.state != "waiting":
        return False
    row.say(detail)
    for key, value in values.items():
        setattr(row, key, value)
    return True
