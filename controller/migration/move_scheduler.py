"""The leader's part in moves: the clock, the order in which moves begin, the controller's own steps, and announce
permits. Each round reads the database, so it does not matter which replica did the round before."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address

from controller.changes.flow import Changes
from controller.core.admission import Journey, admitted
from controller.core.clock import now
from controller.core.intent import Intent
from controller.core.saga import Admitted, Clock, Gone, Phase, Resumed, Saga, deadline
from controller.core.saga.steps import Side, Step
from controller.db import moves as table
from controller.db import vms
from controller.db.engine import Database
from controller.db.moves import MoveRow
from controller.db.requested_moves import standing
from controller.db.vms import VmRow
from controller.leases.leases import Leases
from controller.migration.announce_permits import AnnouncePermits
from controller.migration.controller_steps import KEPT, ControllerSteps, hold
from controller.migration.move_planning import owed_by
from controller.migration.moves import Moves
from controller.wire.log_fields import about

log = logging.getLogger(__name__)

LOOK = 5.0
"""Seconds after which the leader looks at the moves even if nothing seems to have happened."""

REMEMBERED = timedelta(days=90)
"""Time for which moves are kept."""

AT_ONCE = 1000


class MoveScheduler:
    """The leader runs `run` all the time, and `hold` and `prune` now and then."""

    def __init__(self, database: Database, changes: Changes, leases: Leases, moves: Moves) -> None:
        self._database, self._changes, self._moves = database, changes, moves
        self._steps = ControllerSteps(database, changes, leases, moves.metrics)
        self._permits = AnnouncePermits(database, changes)

    async def run(self) -> None:
        """Run the scheduler until cancelled. Only the leader does this."""
        await self._insist(self._resume)
        while True:
            self._moves.work.clear()
            wait = await self._insist(self._round)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(max(wait, 0.02), LOOK)):
                    await self._moves.work.wait()

    async def _insist(self, work: Callable[[], Awaitable[float]]) -> float:
        try:
            return await work()
        except Exception:  # the next attempt may succeed
            log.exception("moves")
            return 1.0

    async def _resume(self) -> float:
        async with self._database.read() as session:
            names = [row.name for row in await table.under_way(session)]
        for name in names:
            await self._moves.happen(name, Resumed())
        return 0.0

    async def _round(self) -> float:
        """Look at every move; return in how many seconds the next one is due."""
        async with self._database.read() as session:
            rows = await table.under_way(session)
        for name in self._admitted(rows):
            await self._moves.happen(name, Admitted())
        soonest = LOOK
        for row in rows:
            with about(move=row.name, vm=row.vm):
                due = await self._look_at(row)
            if due is not None:
                soonest = min(soonest, due - now().timestamp())
        return 0.0 if await self._permits.settle() else soonest

    async def _look_at(self, row: MoveRow) -> float | None:
        """Do what a move wants of the controller; return when it is due again."""
        saga = row.kept
        for side in self._gone(saga):
            await self._moves.happen(row.name, Gone(side))
        await self._steps_of(saga)
        due = deadline(saga)
        if due is not None and due <= now().timestamp():
            await self._moves.happen(row.name, Clock())
            due = now().timestamp() + 0.5
        return due

    async def _steps_of(self, saga: Saga) -> None:
        if saga.task("controller") is not None:
            await self._steps.run(saga)
            for place in (saga.plan.source, saga.plan.destination):
                self._moves.announce(place.cloudlet)
            self._moves.turned_at()

    def _admitted(self, rows: Collection[MoveRow]) -> list[str]:
        rules = self._changes.intent.policy.migration
        owing = {(row.vm, place) for row in rows if row.live is None for place in owed_by(row)}

        def journey(row: MoveRow) -> Journey:
            held = not owing.isdisjoint({(row.vm, row.source), (row.vm, row.destination)})
            return Journey(row.name, row.source, row.destination, held)

        waiting = [journey(row) for row in rows if row.state == Phase.WAITING]
        # A move whose old address lingers copies nothing.
        moving = [journey(row) for row in rows if row.state in (Phase.MOVING, Phase.UNDOING) and row.step != Step.LEAVE]
        return admitted(waiting, moving, rules.moves_per_link, rules.moves_per_cloudlet)

    def _gone(self, saga: Saga) -> list[Side]:
        there = self._changes.intent.cloudlets
        ends: list[tuple[Side, str]] = [
            ("source", saga.plan.source.cloudlet),
            ("destination", saga.plan.destination.cloudlet),
        ]
        return [side for side, name in ends if name not in there]

    async def hold(self) -> None:
        """Keep the addresses that VMs have kept in other LANs from all other devices."""
        intent, after = self._changes.intent, ""
        while True:
            async with self._database.read() as session:
                rows = await vms.page(session, after, AT_ONCE)
            if away := [row for row in rows if _away(intent, row)]:
                async with self._database.write() as session:
                    for row in away:
                        await hold(session, intent, row.device, str(row.address), now() + KEPT)
            if len(rows) < AT_ONCE:
                return
            after = rows[-1].name

    async def prune(self) -> None:
        """Delete old moves that do not stand (`controller.db.requested_moves`)."""
        async with self._database.write() as session:
            await table.prune(session, now() - REMEMBERED, standing().correlate(MoveRow))


def _away(intent: Intent, row: VmRow) -> bool:
    """Return whether the VM is known by an address of another LAN than the one where it is."""
    lan = intent.endpoints.get(row.endpoint)
    return lan is not None and row.address is not None and ip_address(row.address) not in lan.plan.network
