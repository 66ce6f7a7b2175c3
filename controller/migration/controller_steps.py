"""The controller's own steps of a move. Each is one transaction together with the move's transition, so that it is done
once, even if the controller dies."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from controller.changes.flow import Changes
from controller.core import edits
from controller.core.clock import now
from controller.core.destinations import authorise, cut_off
from controller.core.intent import Intent
from controller.core.refusals import Refused, conflict
from controller.core.saga import Did, Phase, Saga, Step, Task
from controller.db import events, moves, pairs
from controller.db.engine import Database
from controller.leases.leases import Leases
from controller.migration.announce_permits import pairs_with
from controller.migration.borrowed_pools import needed
from controller.migration.transitions import take
from controller.runtime.move_metrics import MoveMetrics
from controller.wire import tracing

KEPT = timedelta(hours=1)
"""How long the pair at the destination and that of the old address are kept; after this time their leases hold them."""


class Stale(Exception):  # noqa: N818 - an answer
    """The move does not want this step any more."""


class ControllerSteps:
    """The controller's steps of all moves."""

    def __init__(self, database: Database, changes: Changes, leases: Leases, metrics: MoveMetrics) -> None:
        self._database, self._changes, self._leases, self._metrics = database, changes, leases, metrics
        self._ways: dict[Step, Callable[[Saga, Task], Awaitable[None]]] = {
            Step.AUTHORISE: self._authorise,
            Step.CONNECT: self._connect,
            Step.RESERVE: self._reserve,
            Step.DISCONNECT: self._disconnect,
            Step.RELEASE: self._release,
        }

    async def run(self, saga: Saga) -> None:
        """Do the step that the move wants of the controller now. If it is refused, the refusal goes to the move as the
        answer."""
        task = saga.task("controller")
        if task is None:
            return
        try:
            with tracing.span("controller", at=tracing.place(saga.plan.move, task.number)):
                await self._ways[task.step](saga, task)
        except Stale:
            return
        except Refused as refused:
            final = task.step is Step.AUTHORISE or refused.kind != "conflict"
            did = Did(task.number, "refused" if final else "failed", refused.message)
            async with self._database.write() as session:
                await self._note(session, saga.plan.move, did)

    async def _note(self, session: AsyncSession, move: str, did: Did, at: datetime | None = None) -> None:
        row = await moves.get(session, move, lock=True)
        task = row.kept.task("controller") if row else None
        if row is None or task is None or task.number != did.number:
            raise Stale
        await take(session, row, did, at or now(), self._metrics)

    async def _authorise(self, saga: Saga, task: Task) -> None:
        authorise(self._changes.intent, saga.plan)
        async with self._database.write() as session:
            await self._note(session, saga.plan.move, Did(task.number, "done"))

    async def _connect(self, saga: Saga, task: Task) -> None:
        plan, intent = saga.plan, self._changes.intent
        here, there = plan.source.endpoint, plan.destination.endpoint
        if intent.share(here, there):
            async with self._database.write() as session:
                await self._note(session, plan.move, Did(task.number, "done"))
            return None
        refusal = conflict(cut_off(intent, here) or f"{here} is in no pool that {there} could join")
        for vcp in sorted(intent.pools_of.get(here, ()), key=lambda name: (intent.vcps[name].managed_by_policy, name)):
            try:
                return await self._join(saga, task, vcp)
            except Refused as refused:
                refusal = refused
        raise refusal

    async def _join(self, saga: Saga, task: Task, vcp: str) -> None:
        plan = saga.plan
        here, there = plan.source.endpoint, plan.destination.endpoint

        async def also(session: AsyncSession, intent: Intent) -> None:
            if not intent.share(here, there):
                raise conflict(f"the policy does not let {there} stay in {vcp}")
            text = f"{there} joined {vcp} for {plan.move} at generation {intent.generation}"
            await events.add(session, "member-joined", there, text, vcp=vcp, generation=intent.generation)
            text = f"{there} joined {vcp} for this move"
            did = Did(task.number, "done", text, pool=vcp, joined=intent.generation)
            await self._note(session, plan.move, did)

        await self._changes.make(lambda intent: edits.join(intent, vcp, there), f"{there} joined {vcp}", also)

    async def _disconnect(self, saga: Saga, task: Task) -> None:
        if saga.phase is not Phase.UNDOING:
            await self._return(saga, task)
            return
        vcp, there = saga.pool or "", saga.plan.destination.endpoint

        def edit(intent: Intent) -> Intent:
            member = vcp in intent.vcps and there in intent.vcps[vcp].members
            return edits.leave(intent, vcp, there) if member else intent

        async def also(session: AsyncSession, intent: Intent) -> None:
            text = f"{there} left {vcp}, which it had joined for {saga.plan.move}"
            await events.add(session, "member-left", there, text, vcp=vcp, generation=intent.generation)
            await self._note(session, saga.plan.move, Did(task.number, "done"))

        await self._changes.make(edit, f"{there} left {vcp}", also)

    async def _return(self, saga: Saga, task: Task) -> None:
        """Remove the endpoint that the VM has left from the pool that it had joined for the VM, unless another VM needs
        it now."""
        vcp, here, intent = saga.plan.borrowed or "", saga.plan.source.endpoint, self._changes.intent
        async with self._database.read() as session:
            why = await needed(session, intent, vcp, here, saga)
        if why is not None:
            async with self._database.write() as session:
                await self._note(session, saga.plan.move, Did(task.number, "done", f"{here} stays in {vcp}: {why}"))
            return

        async def also(session: AsyncSession, intent: Intent) -> None:
            if here in intent.vcps[vcp].members:
                raise conflict(f"the policy wants {here} in {vcp}")
            text = f"{here} left {vcp}, which it had joined for {saga.plan.machine.name}"
            await events.add(session, "member-left", here, text, vcp=vcp, generation=intent.generation)
            await self._note(session, saga.plan.move, Did(task.number, "done", f"{here} left {vcp}"))

        await self._changes.make(lambda intent: edits.leave(intent, vcp, here), f"{here} left {vcp}", also)

    async def _reserve(self, saga: Saga, task: Task) -> None:
        plan = saga.plan

        async def work(session: AsyncSession) -> None:
            at = now()
            until = at + KEPT + timedelta(seconds=plan.linger)
            pair = await self._leases.pair(session, plan.destination.endpoint, plan.device, at)
            fresh = pair.held_until is None or pair.held_until <= at
            if pair.held_until is None or pair.held_until < until:
                pair.held_until = until
            await hold(session, self._changes.intent, plan.device, plan.old, until)
            md, vm = (str(a) for a in self._changes.intent.endpoints[pair.endpoint].plan.pair(pair.number))
            text = f"pair {pair.number} of {pair.endpoint} is reserved for {plan.device}, for {plan.move}"
            await events.add(session, "pair-reserved", plan.device, text, endpoint=pair.endpoint)
            if vm == plan.old:  # the VM has kept this address elsewhere, and comes back with it
                did = Did(task.number, "done", f"{vm} is the VM's already, {md} the device's")
            else:
                known: dict[str, Any] = {"held": until.isoformat()} | ({"pair": pair.id} if fresh else {})
                text = f"{vm} is the VM's, {md} the device's"
                did = Did(task.number, "done", text, new=vm, device_address=md, **known)
            await self._note(session, plan.move, did, at)

        await self._database.transact(work)

    async def _release(self, saga: Saga, task: Task) -> None:
        async with self._database.write() as session:
            pair = await pairs.reserved(session, saga.pair or 0, now())
            if pair is not None and pair.held_until is not None and pair.held_until.isoformat() == saga.held:
                pair.held_until = None
                text = f"pair {pair.number} of {pair.endpoint} is not reserved any more"
                await events.add(session, "pair-freed", saga.plan.device, text, endpoint=pair.endpoint)
            await self._note(session, saga.plan.move, Did(task.number, "done"))


async def hold(session: AsyncSession, intent: Intent, device: str, address: str, until: datetime) -> None:
    """Keep the pair of an address, which the device or its VM has, for this device until then."""
    for pair in await pairs_with(session, intent, device, address):
        if pair.held_until is None or pair.held_until < until:
            pair.held_until = until
