"""Deciding: a device is taken to be somewhere else, and its VM follows it, or does not (Teka, section V)."""

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
from controller.migration.predictions import as_json, link, predict, unlike
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)


LOOK = 20.0
"""Seconds between two looks for VMs that are away from their devices."""

AGAIN = timedelta(minutes=5)
"""After a move was begun and the VM is not there, nor on its way, another one is not begun before."""


class Start(Protocol):
    """Begins a move of a VM to an endpoint, which came of a decision. Raises Refused."""

    def __call__(self, vm: str, endpoint: str, *, asked_by: str, reason: str, decision: int) -> Awaitable[object]: ...


class FollowDevice:
    """`intent` gives the region as it is now, `start` begins moves."""

    def __init__(self, database: Database, intent: Callable[[], Intent], start: Start, wakeup: Wakeup) -> None:
        self._database, self._intent, self._start, self._wakeup = database, intent, start, wakeup

    async def seen(self, device: str, endpoint: str) -> DecisionRow | None:
        """The device is taken to be at an endpoint: its VM moves there if it should. Gives the decision, None if there
        is nothing to decide: it has no VM, or one that is there already, is not running, is on its way, or has been
        moved elsewhere because somebody asked for it after that. A new leader tells that of every device."""
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
        """The leader's, until cancelled: decides again on VMs that are not where their devices are. What stood in the
        way may have passed, a move may have come to nothing, and a device may have walked on in the middle of one."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                await self.look()
            except Exception:  # whatever is wrong with the database now, it may be well the next time
                log.exception("VMs that are away from their devices")

    async def look(self) -> None:
        """Decides again where there is a reason to."""
        async with self._database.read() as session:
            apart = await decisions.apart(session)
        for device, endpoint, before in apart:
            if await self._changed(device, endpoint, before):
                await self.seen(device, endpoint)

    async def _changed(self, device: str, endpoint: str, before: DecisionRow | None) -> bool:
        """Whether something else would be decided now. What has been tried is not tried again at once."""
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
        if here is None or here.cloudlet == there.cloudlet or await vms.moves(session, [vm.name]):
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
    """What a move of the VM to an endpoint would take, what is decided on, and the decision; nothing is done. Raises
    Refused."""
    between = link(intent, vm, endpoint)
    relation, found = await predict(session, vm, between, intent.policy.migration.downtime_ms, now())
    given = prospect(relation, found, intent.cloudlets[between[1]].speaks)
    if refused := await unlike(session, vm, between):
        return found, given, Verdict(Course.STAY, tuple(refused))
    return found, given, decide(intent.policy.migration, given)


async def note(
    session: AsyncSession, intent: Intent, vm: VmRow, endpoint: str, move: str, decision: int | None = None
) -> None:
    """Says which move came of a decision. Of a move that somebody asked for, what is predicted is kept, too, so that it
    can be compared with what it takes."""
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
