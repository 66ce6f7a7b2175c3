"""Decisions: a device is taken to be somewhere else, and its VM follows it or does not (Teka, section V)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from controller.auth.audit_context import CONTROLLER, acts
from controller.core.clock import now
from controller.core.estimates import Estimate
from controller.core.event_budget import of_endpoint
from controller.core.follow_policy import Course, Prospect, Verdict, decide
from controller.core.intent import Intent
from controller.core.prospects import advice, prospect
from controller.core.refusals import Refused
from controller.db import decisions, events, requested_moves, vms
from controller.db.decisions import DecisionRow
from controller.db.engine import Database
from controller.db.vms import VmRow
from controller.migration.predictions import as_json, crowded, link, predict, unlike
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)


LOOK = 20.0
"""Seconds between two looks for VMs that are away from their devices."""

AGAIN = timedelta(minutes=5)
"""Time after the begin of a move before another one is begun, if the VM has not arrived and is not on its way."""


class Start(Protocol):
    """Begins a move of a VM to an endpoint, as the result of a decision. Raises Refused."""

    def __call__(self, vm: str, endpoint: str, *, asked_by: str, reason: str, decision: int) -> Awaitable[object]: ...


class FollowDevice:
    """`intent` returns the intent of the region as it is now, `start` begins moves."""

    def __init__(self, database: Database, intent: Callable[[], Intent], start: Start, wakeup: Wakeup) -> None:
        self._database, self._intent, self._start, self._wakeup = database, intent, start, wakeup

    async def seen(self, device: str, endpoint: str) -> DecisionRow | None:
        """Decide whether the VM of a device follows it to the endpoint where the device is taken to be, and begin the
        move if so. Returns the decision, None if there is nothing to decide: the device has no VM, or the VM is there
        already, does not run, is on its way, or was moved elsewhere afterwards on a user's request. A new leader calls
        this for every device."""
        intent = self._intent()
        async with self._database.write() as session:
            vm = await self._concerned(session, intent, device, endpoint)
            if vm is None:
                return None
            row = await _decide(session, intent, vm, endpoint)
        self._wakeup.ring()
        if row.course == Course.MOVE:
            await self._move(row)
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
        if before is None or before.course == Course.MOVE:
            return before is None or now() - before.at >= AGAIN
        async with self._database.read() as session:
            vm = await self._concerned(session, self._intent(), device, endpoint)
            if vm is None:
                return False
            _, _, verdict = await consider(session, self._intent(), vm, endpoint)
        return verdict.course is Course.MOVE

    async def _concerned(self, session: AsyncSession, intent: Intent, device: str, endpoint: str) -> VmRow | None:
        vm = await vms.of_device(session, device)
        if vm is None or vm.condition != "running" or endpoint not in intent.endpoints:
            return None
        here, there = intent.endpoints.get(vm.endpoint), intent.endpoints[endpoint]
        if here is None or here.cloudlet == there.cloudlet or await vms.moves(session, [vm.name], ahead=False):
            return None
        return None if await requested_moves.stands(session, vm.name, endpoint) else vm

    async def _move(self, row: DecisionRow) -> None:
        reason = "; ".join(row.reasons)
        try:
            with acts(CONTROLLER, "move", f"{row.vm} to {row.destination}: {reason}"):
                await self._start(
                    row.vm, row.destination, asked_by=requested_moves.DECIDING, reason=reason, decision=row.id
                )
        except Refused as refused:
            log.warning("%s cannot move to %s: %s", row.vm, row.destination, refused.message)
            async with self._database.write() as session:
                text = f"VM {row.vm} cannot move to {row.destination}: {refused.message}"
                await events.add(
                    session, "move-refused", row.vm, text, caused_by=of_endpoint(row.destination), decision=row.id
                )
            self._wakeup.ring()


async def consider(
    session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str
) -> tuple[Estimate, Prospect, Verdict]:
    """Return the estimate of a move of the VM to an endpoint, the facts to decide on, and the decision, without acting
    on it. Raises Refused."""
    between = link(intent, vm, endpoint)
    relation, found = await predict(session, vm, between, intent.policy.migration, now())
    given = prospect(relation, found, intent.cloudlets[between[1]].speaks)
    if refused := await unlike(session, vm, between):
        return found, given, Verdict(Course.STAY, tuple(refused))
    if full := await crowded(session, vm, between[1], intent.policy.migration):
        return found, given, Verdict(Course.STAY, tuple(full))
    return found, given, decide(intent.policy.migration, given)


async def note(
    session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str, move: str, decision: int | None = None
) -> None:
    """Record which move came of a decision. For a move that a user asked for, record the prediction as well, to compare
    it with the result."""
    if decision is not None:
        await decisions.carried_out(session, decision, move)
        return
    found, given, _ = await consider(session, intent, vm, endpoint)
    _keep(session, vm, endpoint, found, given, Verdict(Course.MOVE, ("somebody asked for it",)), move)


async def _decide(session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str) -> DecisionRow:
    found, given, verdict = await consider(session, intent, vm, endpoint)
    row = _keep(session, vm, endpoint, found, given, verdict)
    await session.flush()
    what = {Course.MOVE: "follows it", Course.SYNTHESISE: "does not follow it", Course.STAY: "stays"}[verdict.course]
    reasons, can = "; ".join(verdict.reasons), advice(verdict.course, vm.name, endpoint)
    text = f"{vm.device} is at {endpoint}; its VM {vm.name} at {vm.endpoint} {what}: {reasons}; {can}"
    data: dict[str, Any] = {"decision": row.id, "course": verdict.course, "reasons": list(verdict.reasons)}
    data |= {"endpoint": endpoint, "prospect": row.prospect, "estimate": row.estimate}
    await events.add(session, "move-decided", vm.name, text, caused_by=of_endpoint(endpoint), **data)
    return row


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
