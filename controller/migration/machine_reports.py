"""Agents' reports on VMs: which were started or stopped, and the condition of all their machines."""

from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.event_budget import of_cloudlet, of_endpoint
from controller.core.intent import Intent
from controller.db import announce_permits, events, host_loads, initiators, leases, pairs, platforms
from controller.db import vms as table
from controller.db.vms import IDLE, STARTING, STOPPING, VmRow
from controller.wire.machines import NICS, MachineState
from controller.wire.moves import MoveReport, Progress

NEWS = timedelta(seconds=10)
"""Age of `seen_at` at which it is written again although nothing has changed."""


async def turning(session: AsyncSession, intent: Intent, cloudlet: str) -> list[VmRow]:
    """Return the VMs that this cloudlet's agent must start or stop. `revision` grows with every request."""
    return await table.turning(session, [lan.name for lan in intent.endpoints_of.get(cloudlet, ())])


async def turned(session: AsyncSession, progress: Progress) -> None:
    """Take in an agent's report on the start or stop that was requested at that revision. An agent tries again what has
    failed, and gives up what was refused. The machine's own state tells that a VM runs. This report tells that it has
    stopped, because the machine may not have existed yet when it was to be stopped."""
    row, act = await table.get(session, progress.move, lock=True), progress.act
    asked = STARTING if act == "start" else STOPPING
    if row is None or row.condition != asked or row.revision != progress.number:
        return
    name, where = row.name, row.endpoint
    source = of_endpoint(where)
    if progress.state in ("failed", "refused"):
        final, done = progress.state == "refused", "started" if act == "start" else "stopped"
        row.condition = "gone" if final else asked
        text = f"VM {name} {'cannot be' if final else 'could not be'} {done}{'' if final else ' yet'} at {where}"
        await events.add(session, f"vm-not-{done}", name, f"{text}: {progress.detail}", caused_by=source, final=final)
    elif progress.state == "done" and act == "stop":
        row.condition, row.seen_at, row.ended = "stopped", now(), None
        text = f"VM {name} is stopped at {where}"
        await events.add(session, "vm-stopped", name, text, caused_by=source, before=STOPPING)


async def heard(session: AsyncSession, intent: Intent, report: MoveReport) -> None:
    """Record an agent's report on all machines of its cloudlet. Machines that the report leaves out are gone, unless
    their driver has not listed any yet. Reports on VMs that are elsewhere are ignored: a move leaves remains behind and
    has them removed."""
    cloudlet, source = report.cloudlet, of_cloudlet(report.cloudlet)
    if report.platforms is not None:
        await platforms.tell(session, cloudlet, report.platforms)
    if report.initiates is not None:
        await initiators.tell(session, cloudlet, report.initiates)
    elif report.platforms is not None:
        await initiators.forget(session, [cloudlet])
    if report.load is not None:
        await host_loads.tell(session, cloudlet, report.load)
    lans = [lan.name for lan in intent.endpoints_of.get(cloudlet, ())]
    there, at = {state.name: state for state in report.machines}, now()
    rows = await table.at(session, lans, lock=True)
    moving = await table.moves(session, [row.name for row in rows])
    for row in rows:
        state = there.get(row.name)
        if state is None and row.machine["driver"] in report.unlisted:
            continue
        before = row.condition
        _see(row, state, at)
        if row.name not in moving:
            await _settle(session, row, state, at)
        if row.condition != before:
            detail = f": {state.detail}" if state is not None and state.detail else ""
            text = f"VM {row.name} is {row.condition} at {row.endpoint}{detail}"
            await events.add(
                session, f"vm-{row.condition}", row.name, text, caused_by=source, cloudlet=cloudlet, before=before
            )


def _see(row: VmRow, state: MachineState | None, at: datetime) -> None:
    condition = "gone" if state is None else state.condition
    if row.condition == STARTING and condition != "running":
        return  # it has not started yet
    if row.condition == STOPPING:
        return  # its agent reports when it has stopped
    changed = row.condition != condition
    if condition not in IDLE:
        row.ended = None
    elif row.condition not in IDLE:
        row.ended = _why(state)
    row.condition = condition
    if changed or row.seen_at is None or at - row.seen_at >= NEWS:
        row.seen_at = at
        if state is not None and state.condition == "running":
            row.memory_used = row.memory_used if state.memory_used is None else state.memory_used
            row.dirty_rate = row.dirty_rate if state.dirty_rate is None else state.dirty_rate


def _why(state: MachineState | None) -> str:
    """Return the reason for which a VM does not run although nobody has stopped it."""
    if state is None or state.condition == "gone":
        return "its hypervisor does not know it any more"
    return state.detail or "its hypervisor does not say why"


async def _settle(session: AsyncSession, row: VmRow, state: MachineState | None, at: datetime) -> None:
    """Record the serving vNIC and its address for a VM that is not being moved; a move records them itself. The other
    vNIC's address does not count: a move that could not end with it has kept the old one."""
    if state is None or state.condition != "running":
        return
    before, row.serving = row.serving, state.serving or row.serving
    if row.seen_at != at and row.serving == before:
        return
    pair = await pairs.of(session, row.endpoint, row.device)
    lease = await leases.of(session, pair.id, "vm") if pair else None
    mac = row.machine["macs"][NICS.index("b" if row.serving == "b" else "a")]
    if lease is not None and lease.expires_at > at and lease.mac in (mac, None) and lease.address != row.address:
        if row.address is not None:
            await announce_permits.note(session, row.name)
        row.address = lease.address
