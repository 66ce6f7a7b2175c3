"""Decisions: a device is taken to be somewhere else, and its VM follows it or does not (Teka, section V)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from controller.auth.audit_context import CONTROLLER, acts
from controller.core.clock import now
from controller.core.estimates import Estimate
from controller.core.event_budget import of_endpoint
from controller.core.follow_policy import Course, Prospect, Verdict, decide
from controller.core.intent import Intent
from controller.core.policy.model import OnVerdict
from controller.core.prospects import advice, prospect
from controller.core.refusals import Refused
from controller.db import decisions, events, requested_moves, vms
from controller.db.decisions import DecisionRow
from controller.db.engine import Database
from controller.db.vms import VmRow
from controller.migration.initiations import measured, obstacles
from controller.migration.move_obstacles import crowded, unlike
from controller.migration.predictions import as_json, link, predict
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)


LOOK = 20.0
"""Seconds between two looks for VMs that are away from their devices."""

AGAIN = timedelta(minutes=5)
"""Time after the begin of a move before another one is begun, if the VM has not arrived and is not on its way."""


class Start(Protocol):
    """Begins a move of a VM to an endpoint, or its initiation there, as the result of a decision. Raises Refused."""

    def __call__(self, vm: str, endpoint: str, *, asked_by: str, reason: str, decision: int) -> Awaitable[object]: ...


class FollowDevice:
    """`intent` returns the intent of the region as it is now, `start` begins moves, `initiate` initiations."""

    def __init__(
        self, database: Database, intent: Callable[[], Intent], start: Start, initiate: Start, wakeup: Wakeup
    ) -> None:
        self._database, self._intent, self._wakeup = database, intent, wakeup
        self._begin = {Course.MOVE: start, Course.SYNTHESISE: initiate}

    async def seen(self, device: str, endpoint: str) -> DecisionRow | None:
        """Decide whether the VM of a device follows it to the endpoint where the device is taken to be, and begin the
        move, or the initiation that the policy wants instead. Returns the decision, None if there is nothing to decide:
        the device has no VM, or the VM is there already, does not run, is on its way, or was moved elsewhere afterwards
        on a user's request. A new leader calls this for every device."""
        intent = self._intent()
        async with self._database.write() as session:
            vm = await self._concerned(session, intent, device, endpoint)
            if vm is None:
                return None
            row = await _decide(session, intent, vm, endpoint)
        self._wakeup.ring()
        if row.course in _done(intent):
            await self._carry_out(row)
        return row

    async def watch(self) -> None:
        """Decide again on VMs that are away from their devices, until cancelled. Only the leader does this. An obstacle
        may have gone, a move may have failed, or a device may have moved on during a move."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                await self.look()
            except Exception:  # the next look may succeed
                log.exception("VMs that are away from their devices")

    async def look(self) -> None:
        """Decide again on each VM whose decision may be another one now."""
        async with self._database.read() as session:
            apart = await decisions.apart(session)
        for device, endpoint, before in apart:
            if await self._changed(device, endpoint, before):
                await self.seen(device, endpoint)

    async def _changed(self, device: str, endpoint: str, before: DecisionRow | None) -> bool:
        """Return whether the decision would be another one now. A move that was tried is not tried again at once."""
        done = _done(self._intent())
        if before is None or before.course in done:
            return before is None or now() - before.at >= AGAIN
        async with self._database.read() as session:
            vm = await self._concerned(session, self._intent(), device, endpoint)
            if vm is None:
                return False
            _, _, verdict = await consider(session, self._intent(), vm, endpoint)
        asks = verdict.course is Course.SYNTHESISE and self._intent().policy.migration.on_verdict is OnVerdict.ASK
        return verdict.course in done or (asks and before.course != Course.SYNTHESISE)

    async def _concerned(self, session: AsyncSession, intent: Intent, device: str, endpoint: str) -> VmRow | None:
        vm = await vms.of_device(session, device)
        if vm is None or vm.condition != "running" or endpoint not in intent.endpoints:
            return None
        here, there = intent.endpoints.get(vm.endpoint), intent.endpoints[endpoint]
        if here is None or here.cloudlet == there.cloudlet or await vms.moves(session, [vm.name], ahead=False):
            return None
        return None if await requested_moves.stands(session, vm.name, endpoint) else vm

    async def _carry_out(self, row: DecisionRow) -> None:
        course, reason = Course(row.course), "; ".join(row.reasons)
        verb, where = ("move to" if course is Course.MOVE else "start anew at"), row.destination
        try:
            with acts(CONTROLLER, str(course), f"{row.vm} to {where}: {reason}"):
                await self._begin[course](
                    row.vm, where, asked_by=requested_moves.DECIDING, reason=reason, decision=row.id
                )
        except Refused as refused:
            log.warning("%s cannot %s %s: %s", row.vm, verb, where, refused.message)
            async with self._database.write() as session:
                text = f"VM {row.vm} cannot {verb} {where}: {refused.message}"
                await events.add(session, "move-refused", row.vm, text, caused_by=of_endpoint(where), decision=row.id)
            self._wakeup.ring()


async def consider(
    session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str
) -> tuple[Estimate, Prospect, Verdict]:
    """Return the estimate of a move of the VM to an endpoint, the facts to decide on, and the decision, without acting
    on it. Raises Refused."""
    between = link(intent, vm, endpoint)
    there = intent.cloudlets[between[1]]
    relation, found = await predict(session, vm, between, intent.policy.migration, now())
    took = await measured(session, vm)
    made = intent.policy.migration.on_verdict is not OnVerdict.MOVE
    why = await obstacles(session, intent, vm, endpoint) if made else []
    can = there.managed and not why
    given = prospect(relation, found, can, took.seconds)
    if there.unmanaged:
        return found, given, Verdict(Course.STAY, (f"{between[1]} has no agent",))
    if refused := await unlike(session, vm, between):
        return found, given, Verdict(Course.SYNTHESISE if made and can else Course.STAY, tuple(refused))
    if full := await crowded(session, vm, between[1], intent.policy.migration):
        return found, given, Verdict(Course.STAY, tuple(full))
    verdict = decide(intent.policy.migration, given)
    return (
        found,
        given,
        replace(verdict, reasons=(*verdict.reasons, *why)) if verdict.course is Course.STAY else verdict,
    )


async def note(
    session: AsyncSession,
    intent: Intent,
    vm: VmRow,
    endpoint: str,
    move: str,
    decision: int | None = None,
    course: Course = Course.MOVE,
) -> None:
    """Record which move, or which initiation, came of a decision. If a user asked for it, record the prediction as
    well, to compare it with the result."""
    if decision is not None:
        await decisions.carried_out(session, decision, move)
        return
    found, given, _ = await consider(session, intent, vm, endpoint)
    _keep(session, vm, endpoint, found, given, Verdict(course, ("somebody asked for it",)), move)


async def _decide(session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str) -> DecisionRow:
    found, given, verdict = await consider(session, intent, vm, endpoint)
    row = _keep(session, vm, endpoint, found, given, verdict)
    await session.flush()
    starts = Course.SYNTHESISE in _done(intent)
    what = {Course.MOVE: "follows it", Course.SYNTHESISE: "does not follow it", Course.STAY: "stays"}[verdict.course]
    reasons, can = "; ".join(verdict.reasons), advice(verdict.course, vm.name, endpoint, starts)
    text = f"{vm.device} is at {endpoint}; its VM {vm.name} at {vm.endpoint} {what}: {reasons}; {can}"
    data: dict[str, Any] = {"decision": row.id, "course": verdict.course, "reasons": list(verdict.reasons)}
    data |= {"endpoint": endpoint, "prospect": row.prospect, "estimate": row.estimate}
    await events.add(session, "move-decided", vm.name, text, caused_by=of_endpoint(endpoint), **data)
    if verdict.course is Course.SYNTHESISE and intent.policy.migration.on_verdict is OnVerdict.ASK:
        text = f"is VM {vm.name} to start anew at {endpoint}? {reasons}; {can}"
        data = {"decision": row.id, "endpoint": endpoint}
        await events.add(session, "initiation-asked", vm.name, text, caused_by=of_endpoint(endpoint), **data)
    return row


def _done(intent: Intent) -> frozenset[Course]:
    """Return the verdicts that are carried out without an operator."""
    made = intent.policy.migration.on_verdict is OnVerdict.SYNTHESISE
    return frozenset({Course.MOVE, Course.SYNTHESISE} if made else {Course.MOVE})


def _keep(
    session: AsyncSession,
    vm: VmRow,
    endpoint: str,
    found: Estimate,
    given: Prospect,
    verdict: Verdict,
    move: str | None = None,
) -> DecisionRow:
    row = DecisionRow(
        vm=vm.name,
        device=vm.device,
        source=vm.endpoint,
        destination=endpoint,
        course=str(verdict.course),
        reasons=list(verdict.reasons),
        prospect=asdict(given),
        estimate=as_json(found),
        move=move,
        at=now(),
    )
    session.add(row)
    return row
