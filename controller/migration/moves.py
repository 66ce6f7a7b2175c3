"""Moves of VMs: requested, ordered from the agents, and led to their end, whichever agent or replica dies.

Any replica takes in agents' reports and sends agents their orders, because all of that is in the database. The leader
does the rest (`controller.migration.move_scheduler`)."""

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.agents.registry import Agents
from controller.changes.flow import Changes
from controller.core.bandwidth_limits import most
from controller.core.clock import now
from controller.core.follow_policy import Course
from controller.core.refusals import Refused, conflict
from controller.core.saga import (
    Cancel,
    Event,
    Hurry,
    Plan,
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
from controller.db.engine import Database, Work
from controller.db.moves import MoveRow
from controller.db.vms import STOPPING, VmRow
from controller.migration import machine_reports as machines
from controller.migration.follow_device import note
from controller.migration.move_planning import planned
from controller.migration.transitions import take
from controller.replication.replicas import Replicas
from controller.runtime.move_metrics import MoveMetrics
from controller.runtime.wakeup import Wakeup
from controller.wire.machines import Nic
from controller.wire.moves import POWER, MoveReport, Order, Orders, Progress

log = logging.getLogger(__name__)

KIND = "moves"

GIVES_WAY = 20.0
"""Seconds that a request for a move waits for the end of a copy ahead of time."""

LOOK = 0.2
"""Seconds between two looks at whether it has ended."""

BEGINNING = ("switchover", "activate")
"""Acts that an agent begins only if their order still exists."""


class Moves:
    """Any replica may call `start`, `initiate`, `cancel`, `finish`, `report` and `orders`."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        agents: Agents,
        replicas: Replicas,
        wakeup: Wakeup,
        metrics: MoveMetrics,
    ) -> None:
        self._database, self._changes, self._agents = database, changes, agents
        self._replicas, self._wakeup, self.metrics = replicas, wakeup, metrics
        self.work = asyncio.Event()
        """Set when the leader should look at the moves."""
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
        """Request a move of a VM to an endpoint; it waits for its turn. `keep`: the VM keeps its address. `linger`:
        seconds that the old address lives on, None for the policy's value. `decision` is the decision that led to the
        move; without one, the prediction is recorded all the same. Raises Refused."""
        await self._make_way(vm, endpoint)

        async def work(session: AsyncSession) -> MoveRow:
            machine = await _machine(session, vm)
            plan = await planned(session, self._changes.intent, machine, endpoint, keep=keep, linger=linger)
            await note(session, self._changes.intent, machine, endpoint, plan.move, decision)
            text = f"{plan.move}: {vm} is to move from {plan.source.endpoint} to {endpoint}"
            return await self._begun(session, plan, asked_by, f"{text}: {reason}" if reason else text)

        return await self._requested(work, vm)

    async def initiate(
        self,
        vm: str,
        endpoint: str,
        *,
        linger: float | None = None,
        asked_by: str = "",
        reason: str = "",
        decision: int | None = None,
    ) -> MoveRow:
        """Request that a VM starts anew at an endpoint, in the way of a move: once it serves there, its old machine is
        retired. The parameters are those of `start`. Raises Refused."""
        await self._make_way(vm, endpoint, anew=True)

        async def work(session: AsyncSession) -> MoveRow:
            machine = await _machine(session, vm)
            plan = await planned(session, self._changes.intent, machine, endpoint, linger=linger, anew=True)
            await note(session, self._changes.intent, machine, endpoint, plan.move, decision, Course.SYNTHESISE)
            text = f"{plan.move}: {vm} of {plan.source.endpoint} is to start anew at {endpoint}"
            return await self._begun(session, plan, asked_by, f"{text}: {reason}" if reason else text)

        return await self._requested(work, vm)

    async def prepare(self, vm: str, endpoint: str, *, asked_by: str = "", reason: str = "") -> MoveRow:
        """Request that a VM's memory and disk are copied to an endpoint ahead of a move. Both ends keep the copies for
        as long as the policy says, and the VM stays. Raises Refused."""

        async def work(session: AsyncSession) -> MoveRow:
            machine = await _machine(session, vm)
            plan = await planned(session, self._changes.intent, machine, endpoint, ahead=True)
            text = f"{plan.move}: {vm} is to be copied from {plan.source.endpoint} to {endpoint}, and to stay"
            return await self._begun(session, plan, asked_by, f"{text}: {reason}" if reason else text)

        return await self._requested(work, vm)

    async def _begun(self, session: AsyncSession, plan: Plan, asked_by: str, text: str) -> MoveRow:
        """Add a move that waits for its turn, with its event."""
        at, vm = now(), plan.machine.name
        row = MoveRow(name=plan.move, vm=vm, device=plan.device, asked_by=asked_by[:63])
        row.created_at, row.source, row.destination = at, plan.source.cloudlet, plan.destination.cloudlet
        row.keep(begin(plan, at.timestamp()), at)
        session.add(row)
        data = {"vm": vm, "source": row.source, "destination": row.destination, "asked_by": asked_by}
        await events.add(session, "move-waiting", plan.move, text, **data)
        await self._say(session, row)
        return row

    async def _requested(self, work: Work[MoveRow], vm: str) -> MoveRow:
        try:
            row = await self._database.transact(work)
        except IntegrityError:
            raise conflict(f"{vm} is being moved already", "vm") from None
        self._turned([])
        self._wakeup.ring()
        return row

    async def _make_way(self, vm: str, endpoint: str, *, anew: bool = False) -> None:
        """End a copy of the VM ahead of time: it must not hold up a move. If it does not end soon, the move will be
        refused for it. Raises Refused, and ends nothing, if there can be no move in any case."""
        async with self._database.read() as session:
            if await _copying(session, vm) is None:
                return
            await planned(session, self._changes.intent, await _machine(session, vm, lock=False), endpoint, anew=anew)
        with suppress(TimeoutError, Refused):
            async with asyncio.timeout(GIVES_WAY):
                while True:
                    async with self._database.read() as session:
                        copying = await _copying(session, vm)
                    if copying is None:
                        return
                    if revocable(copying.kept):
                        await self.cancel(copying.name, "the VM is to move")
                    await asyncio.sleep(LOOK)

    async def cancel(self, name: str, why: str = "it was cancelled") -> MoveRow:
        """End a move as if it had never been requested. Raises Refused if it is over, or has reached the switchover."""
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
        """End the VM's old address now, even if connections still use it. Raises Refused unless it lingers."""
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
        """Take in that the device was seen at a LAN. A move to another LAN that is not past its switchover is given up.
        A lingering old address ends. Neither happens if the device was there already when the move was requested. A new
        leader calls this for every device."""
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
        """Return all that a cloudlet's agent must do now."""
        async with self._database.read() as session:
            rows = await moves.at(session, cloudlet)
            turning = await machines.turning(session, self._changes.intent, cloudlet)
            told = await platforms.told(session, cloudlet)
        found = [self._limited(row, wanted) for row in rows if (wanted := order(row.kept, _side(row, cloudlet)))]
        moving = {wanted.machine.name for wanted in found}
        found += [_turn(row) for row in turning if row.name not in moving]
        return Orders(cloudlet=cloudlet, orders=list(understood(found, told)))

    def _limited(self, row: MoveRow, wanted: Order) -> Order:
        """Return an order with the limit on the bandwidth that the policy has for this link and time."""
        limits = self._changes.intent.policy.migration.bandwidth
        bandwidth = most(limits, row.source, row.destination, now())
        return wanted.model_copy(update={"tuning": wanted.tuning.model_copy(update={"bandwidth": bandwidth})})

    async def report(self, cloudlet: str, report: MoveReport) -> None:
        """Take in an agent's report; return when it is committed. Raises Refused if the agent is about to begin an
        order that no longer exists; the rest of the report is taken in all the same."""
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
            self._turned([cloudlet])  # it may now understand more orders, or give machines more CPUs
        for progress in stale:
            text = f"order {progress.number} of {progress.move}, {progress.act}, is not there any more"
            raise conflict(text, "progress")

    async def happen(self, name: str, event: Event) -> None:
        """Take in an event of a move."""
        async with self._database.write() as session:
            row = await moves.get(session, name, lock=True)
            if row is None:
                return
            await self._take(session, row, event)
        self._after(row)

    async def _take(self, session: AsyncSession, row: MoveRow, event: Event) -> None:
        if await take(session, row, event, now(), self.metrics):
            await self._say(session, row)

    async def _say(self, session: AsyncSession, row: MoveRow) -> None:
        await self._replicas.say(session, KIND, [row.source, row.destination])

    def announce(self, cloudlet: str) -> None:
        """Tell a cloudlet's agent that its orders may have changed, for another reason than a move."""
        self._agents.order(cloudlet)
        self._replicas.tell(KIND, [cloudlet])

    def _after(self, *rows: MoveRow) -> None:
        """Wake the agents of these moves after the transaction is committed."""
        self.turned_at(*(name for row in rows for name in (row.source, row.destination)))

    def turned_at(self, *cloudlets: str) -> None:
        """Wake the agents of these cloudlets, whose orders have changed in a committed transaction."""
        self._turned(cloudlets)
        self._wakeup.ring()

    def _turned(self, cloudlets: Collection[str]) -> None:
        for name in cloudlets:
            self._agents.order(name)
        self.work.set()

    async def _look(self) -> None:
        """Wake all agents and the leader, after a time in which messages may have been missed."""
        self._agents.order_all()
        self.work.set()


async def _machine(session: AsyncSession, vm: str, *, lock: bool = True) -> VmRow:
    row = await vms.get(session, vm, lock=lock)
    if row is None:
        raise await names.unknown(session, "vm", "VM", vm)
    return row


async def _copying(session: AsyncSession, vm: str) -> MoveRow | None:
    """Return the copy ahead of a move that is under way of a VM."""
    return next((row for row in await moves.of_vm(session, vm) if row.ahead and row.live is not None), None)


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
