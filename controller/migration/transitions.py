"""Transitions of moves: an event and its effect on the move and its VM, in one transaction."""

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.announce_permits import differs
from controller.core.saga import Event, Note, Phase, Saga, advance
from controller.db import announce_permits, events, leases, moves, pairs, vms
from controller.db.after_commit import after_commit
from controller.db.moves import MoveRow
from controller.migration import initiations, move_traces
from controller.migration.predictions import learn
from controller.runtime.move_metrics import MoveMetrics
from controller.wire import tracing
from controller.wire.moves import Figures


async def take(session: AsyncSession, row: MoveRow, event: Event, at: datetime, metrics: MoveMetrics) -> bool:
    """Take an event in; the row is locked. Returns whether the orders of the move have changed. A move that ends by it
    is counted in `metrics` when that is committed."""
    before = row.kept
    after, notes = advance(before, event, at.timestamp())
    if after == before and not notes:
        return False
    row.keep(after, at)
    if tracing.on():
        after_commit(session, lambda: move_traces.add(before, after, notes, at.timestamp()))
    await _write_down(session, row, before, after, notes, at)
    if (before.placed, before.address, before.serving) != (after.placed, after.address, after.serving):
        await _settle(session, after, at)
    anew = after.plan.initiation is not None
    if anew and after.placed and not before.placed:
        await initiations.serves(session, after, before.since, at)
    if differs(before, after):
        await announce_permits.note(session, after.plan.machine.name)
    if after.swapped and not before.swapped:
        await _give_up(session, after)
    if after.phase.over and not before.phase.over:
        figures = {str(step): found for step, found in after.figures.items()}
        if after.phase is Phase.DONE and not after.copied and not anew:
            await _learn(session, after, at, figures)
        await _tell_end(session, row, after)
        outcome = "copied" if after.copied else "initiated" if anew and after.placed else after.phase
        after_commit(session, lambda: metrics.ended(outcome, at.timestamp() - after.began, figures))
    return after.tasks != before.tasks or after.phase is not before.phase


async def _write_down(
    session: AsyncSession, row: MoveRow, before: Saga, after: Saga, notes: tuple[Note, ...], at: datetime
) -> None:
    turned = before.phase is not Phase.UNDOING and after.phase in (Phase.UNDOING, Phase.UNDONE)
    for note in notes:
        if turned and note.undoing:
            await moves.close(session, row.name, at)
            turned = False
        await moves.note(session, row.name, note, at)
        what = "undoing " if note.undoing else ""
        text = f"{row.name}: {what}{note.step} {note.state}" + (f": {note.detail}" if note.detail else "")
        data = {"vm": row.vm, "state": note.state, "source": row.source, "destination": row.destination}
        await events.add(session, f"move-{note.step}", row.name, text, **data)
    if after.phase.over:
        await moves.close(session, row.name, at)


async def _settle(session: AsyncSession, saga: Saga, at: datetime) -> None:
    """Record where the VM is now, and the address that it is known by."""
    vm = await vms.get(session, saga.plan.machine.name, lock=True)
    if vm is None:
        return
    vm.serving, vm.address = saga.serving, saga.address
    if vm.endpoint != saga.here.endpoint:
        vm.endpoint, vm.condition, vm.seen_at = saga.here.endpoint, "running", at
    vm.revision += 1


async def _give_up(session: AsyncSession, saga: Saga) -> None:
    """End the VM's old address after it has lingered: its lease, and the reservation of its pair. The agent does the
    same in its own memory when it discards the machine."""
    device, here = saga.plan.device, saga.plan.destination.endpoint
    for lease in await leases.of_vm(session, device, saga.plan.old):
        await leases.remove(session, lease)
        text = f"{lease.address} at {lease.endpoint} released: {device}'s VM is at {here}"
        data = {"endpoint": lease.endpoint, "address": lease.address, "kind": lease.kind, "mac": lease.mac}
        await events.add(session, "lease-released", device, text, **data)
    for pair in await pairs.of_device(session, device):
        ours = pair.held_until is not None and pair.held_until.isoformat() == saga.held
        if ours and pair.endpoint != here:
            pair.held_until = None
            text = f"pair {pair.number} of {pair.endpoint} is not reserved any more"
            await events.add(session, "pair-freed", device, text, endpoint=pair.endpoint)


async def _learn(session: AsyncSession, saga: Saga, at: datetime, figures: Mapping[str, Figures]) -> None:
    """Record the measurements from which the next move is predicted."""
    between = saga.plan.source.cloudlet, saga.plan.destination.cloudlet
    began = datetime.fromtimestamp(saga.began, UTC)
    plan = saga.plan
    await learn(session, plan.move, plan.machine, between, (began, at), figures, plan.tuning.direct)


async def _tell_end(session: AsyncSession, row: MoveRow, saga: Saga) -> None:
    where = f"{row.vm} is at {saga.here.endpoint}, known by {saga.address}"
    if saga.copied:
        where += f", and a copy of it at {saga.plan.destination.endpoint}"
    text = f"{row.name} is {saga.phase}: {where}" + (f"; {saga.reason}" if saga.reason else "")
    data = {"vm": row.vm, "source": row.source, "destination": row.destination, "reason": saga.reason}
    await events.add(session, f"move-{saga.phase}", row.name, text, **data)
