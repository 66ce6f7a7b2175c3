"""Moves of VMs: asked for, ordered from the agents, and led to their end, whoever dies when.

Any replica takes in what agents report, and sends them their orders: all of that is in the database. The leader
does the rest (`controller.migration.move_scheduler`).
"""

import asyncio
import logging
from collections.abc import Collection

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.agents.registry import Agents
from controller.changes.flow import Changes
from controller.core.clock import now
from controller.core.refusals import conflict
from controller.core.saga import (
    Cancel,
    Event,
    Hurry,
    Said,
    Wandered,
    begin,
    current,
    order,
    revocable,
)
from controller.core.saga.steps import Side
from controller.core.understood import understood
from controller.db import events, moves, names, platforms, sightings, vms
from controller.db.engine import Database
from controller.db.moves import MoveRow
from controller.db.vms import STOPPING, VmRow
from controller.migration import machine_reports as machines
from controller.migration.follow_device import note
from controller.migration.move_planning import planned
from controller.migration.transitions import take
from controller.replication.replicas import Replicas
from controller.runtime.wakeup import Wakeup
from controller.wire.machines import Nic
from controller.wire.moves import POWER, MoveReport, Order, Orders, Progress

log = logging.getLogger(__name__)

KIND = "moves"

BEGINNING = ("switchover", "activate")
"""Orders that are begun only if they are still there."""


class Moves:
    """`start`, `cancel`, `finish`, `report`, `orders`: on any replica."""

    def __init__(
        self, database: Database, changes: Changes, agents: Agents, replicas: Replicas, wakeup: Wakeup
    ) -> None:
        self._database, self._changes, self._agents = database, changes, agents
        self._replicas, self._wakeup = replicas, wakeup
        self.work = asyncio.Event()
        """Set when the leader should look."""
        replicas.hear[KIND] = lambda who, words: self._turned(words)
        replicas.look.append(self._look)

    async def start(
        self,
        vm: str,
        endpoint: str,
        *,
        keep: bool = False,
        linger: float | None = None,
        asked_by: str = "",
        reason: str = "",
        decision: int | None = None,
    ) -> MoveRow:
        """Asks for a move of a VM to an endpoint; it waits for its turn. `keep`: with its address. `linger`: seconds
        that the old address lives on, else what the policy says. `decision` is the one that it came of; without one,
        what is predicted of it is kept all the same. Raises Refused."""

        async def work(session: AsyncSession) -> MoveRow:
            machine = await vms.get(session, vm, lock=True)
            if machine is None:
                raise await names.unknown(session, "vm", "VM", vm)
            plan = await planned(session, self._changes.intent, machine, endpoint, keep=keep, linger=linger)
            at = now()
            row = MoveRow(name=plan.move, vm=vm, device=machine.device, asked_by=asked_by[:63], created_at=at)
            row.source, row.destination = plan.source.cloudlet, plan.destination.cloudlet
            row.keep(begin(plan, at.timestamp()), at)
            session.add(row)
            await note(session, self._changes.intent, machine, endpoint, plan.move, decision)
            text = f"{plan.move}: {vm} is to move from {plan.source.endpoint} to {endpoint}"
            data = {"vm": vm, "source": row.source, "destination": row.destination, "asked_by": asked_by}
            await events.add(session, "move-waiting", plan.move, f"{text}: {reason}" if reason else text, **data)
            await self._say(session, row)
            return row

        try:
            row = await self._database.transact(work)
        except IntegrityError:
            raise conflict(f"{vm} is being moved already", "vm") from None
        self._turned([])
        self._wakeup.ring()
        return row

    async def cancel(self, name: str, why: str = "it was cancelled") -> MoveRow:
        """Ends a move as if it had never been asked for. Raises Refused once the VM is on its way over."""
        async with self._database.write() as session:
            row = await moves.get(session, name, lock=True)
            if row is None:
                raise await names.missing(session, "move", name)
            saga = row.kept
            if saga.phase.over:
                raise conflict(f"{name} is {saga.phase} already")
            if not revocable(saga):
                raise conflict(f"{name} cannot be cancelled any more: {row.vm} is at the step {saga.step}")
            await self._take(session, row, Cancel(why))
        self._after(row)
        return row

    async def finish(self, name: str, why: str = "nobody waits for it") -> MoveRow:
        """The VM's old address goes now, whatever hangs on it. Raises Refused unless it lingers."""
        async with self._database.write() as session:
            row = await moves.get(session, name, lock=True)
            if row is None:
                raise await names.missing(session, "move", name)
            if not row.kept.leaving:
                raise conflict(f"no address lingers: {name} is {row.state}, at the step {row.step}")
            await self._take(session, row, Hurry(why))
        self._after(row)
        return row

    async def seen(self, device: str, endpoint: str) -> None:
        """The device was seen at a LAN: a move to another one that is not past its switchover is given up, and in one
        whose old address lingers that goes, unless the device was there already when it was asked for. A new leader
        tells that of every device."""
        async with self._database.write() as session:
            row = await moves.of_device(session, device)
            if row is None or (row := await moves.get(session, row.name, lock=True)) is None:
                return
            place = (await sightings.places(session, [device])).get(device)
            if place is not None and place.endpoint == endpoint and place.since and place.since <= row.created_at:
                return
            await self._take(session, row, Wandered(endpoint))
        self._after(row)

    async def orders(self, cloudlet: str) -> Orders:
        """All that a cloudlet is to bring about now."""
        async with self._database.read() as session:
            rows = await moves.at(session, cloudlet)
            turning = await machines.turning(session, self._changes.intent, cloudlet)
            told = await platforms.told(session, cloudlet)
        found = [wanted for row in rows if (wanted := order(row.kept, _side(row, cloudlet)))]
        moving = {wanted.machine.name for wanted in found}
        found += [_turn(row) for row in turning if row.name not in moving]
        return Orders(cloudlet=cloudlet, orders=list(understood(found, told)))

    async def report(self, cloudlet: str, report: MoveReport) -> None:
        """Takes in what an agent says; returns when it is committed. Raises Refused if an order that is to begin is not
        there any more; all else is taken in."""
        stale: list[Progress] = []
        touched: list[MoveRow] = []

        async def work(session: AsyncSession) -> None:
            stale.clear()
            touched.clear()
            rows = {}
            for name in sorted({progress.move for progress in report.progress if progress.act not in POWER}):
                if (row := await moves.get(session, name, lock=True)) and cloudlet in (row.source, row.destination):
                    rows[name] = row
            for progress in report.progress:
                known = rows.get(progress.move)
                if progress.act in POWER:
                    await machines.turned(session, progress)
                    continue
                if known is None or not current(known.kept, _side(known, cloudlet), progress.number):
                    if progress.state == "running" and progress.act in BEGINNING:
                        stale.append(progress)
                    continue
                await self._take(session, known, _said(_side(known, cloudlet), progress))
                touched.append(known)
            await machines.heard(session, self._changes.intent, report)

        await self._database.transact(work)
        self._after(*touched)
        if report.platforms is not None:
            self._turned([cloudlet])  # it may understand what it did not, or give machines a CPU that it could not
        for progress in stale:
            text = f"order {progress.number} of {progress.move}, {progress.act}, is not there any more"
            raise conflict(text, "progress")

    async def happen(self, name: str, event: Event) -> None:
        """Takes an event in."""
        async with self._database.write() as session:
            row = await moves.get(session, name, lock=True)
            if row is None:
                return
            await self._take(session, row, event)
        self._after(row)

    async def _take(self, session: AsyncSession, row: MoveRow, event: Event) -> None:
        if await take(session, row, event, now()):
            await self._say(session, row)

    async def _say(self, session: AsyncSession, row: MoveRow) -> None:
        await self._replicas.say(session, KIND, [row.source, row.destination])

    def announce(self, cloudlet: str) -> None:
        """The orders of a cloudlet may be others now, for another reason than a move."""
        self._agents.order(cloudlet)
        self._replicas.tell(KIND, [cloudlet])

    def _after(self, *rows: MoveRow) -> None:
        """What was written down is committed."""
        self.turned_at(*(name for row in rows for name in (row.source, row.destination)))

    def turned_at(self, *cloudlets: str) -> None:
        """Something is ordered otherwise there, and that is committed."""
        self._turned(cloudlets)
        self._wakeup.ring()

    def _turned(self, cloudlets: Collection[str]) -> None:
        for name in cloudlets:
            self._agents.order(name)
        self.work.set()

    async def _look(self) -> None:
        """After a time in which nothing was heard."""
        self._agents.order_all()
        self.work.set()


def _side(row: MoveRow, cloudlet: str) -> Side:
    return "source" if row.source == cloudlet else "destination"


def _said(side: Side, progress: Progress) -> Said:
    return Said(side, progress.number, progress.state, progress.detail, progress.figures, progress.target)


def _turn(row: VmRow) -> Order:
    serving: Nic = "b" if row.serving == "b" else "a"
    return Order(
        move=row.name,
        number=row.revision,
        act="stop" if row.condition == STOPPING else "start",
        machine=row.made_of,
        endpoint=row.endpoint,
        serving=serving,
    )
