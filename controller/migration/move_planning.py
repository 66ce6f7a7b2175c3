"""The plan of a move, made when the move is requested."""

import secrets

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.destinations import authorise
from controller.core.intent import Intent
from controller.core.refusals import conflict, unknown
from controller.core.saga import MoveEnd, Plan
from controller.db import moves
from controller.db.moves import MoveRow
from controller.db.vms import VmRow
from controller.migration.borrowed_pools import borrowed
from controller.migration.fast_lines import steps_aside
from controller.migration.initiations import obstacles
from controller.migration.move_obstacles import unlike
from controller.wire import tracing
from controller.wire.moves import Keep, Tuning


async def planned(
    session: AsyncSession,
    intent: Intent,
    vm: VmRow,
    endpoint: str,
    *,
    keep: bool = False,
    linger: float | None = None,
    ahead: bool = False,
    anew: bool = False,
) -> Plan:
    """Return the plan of a move of the VM, which is locked, to an endpoint. `anew`: it starts anew there. Raises
    Refused if it is not possible now."""
    others = await moves.of_vm(session, vm.name)
    for other in others:
        if other.live is not None and (ahead or not other.ahead):  # a move ends a copy ahead of one
            text = f"{vm.name} is being moved already: {other.name}, to {other.destination}"
            if other.kept.leaving:
                text += f"; its old address lingers, and `weft move finish {other.name}` lets it go"
            raise conflict(text, "vm")
    if endpoint not in intent.endpoints:
        raise unknown("endpoint", "endpoint", endpoint, intent.endpoints)
    source, destination = _place(intent, vm.endpoint), _place(intent, endpoint)
    if source.cloudlet == destination.cloudlet:
        raise conflict(f"{vm.name} is at {vm.endpoint} of {source.cloudlet} already", "endpoint")
    if vm.condition != "running":
        raise conflict(f"{vm.name} is {vm.condition} at {vm.endpoint}: only a VM that runs can be moved", "vm")
    if vm.address is None:
        raise conflict(f"{vm.name} has no address at {vm.endpoint} yet", "vm")
    if anew and (refused := await obstacles(session, intent, vm, endpoint)):
        raise conflict(f"{vm.name} cannot start anew at {endpoint}: {'; '.join(refused)}", "endpoint")
    if not anew and (refused := await unlike(session, vm, (source.cloudlet, destination.cloudlet))):
        text = f"{vm.name} would not be the same at {destination.cloudlet}: {'; '.join(refused)}"
        raise conflict(text, "endpoint")
    for other in (one for one in others if one.live is None):
        for place in {source.cloudlet, destination.cloudlet} & owed_by(other):
            raise conflict(f"{place} still has to clear away the remains of {vm.name} that {other.name} left", "vm")
    rules = intent.policy.migration
    if ahead and not rules.keep_seconds:
        raise conflict("nothing would be kept: migration.keep_seconds is 0 in the policy", "vm")
    plan = Plan(
        move=f"move-{secrets.token_hex(5)}",
        machine=vm.made_of,
        device=vm.device,
        source=source,
        destination=destination,
        old=vm.address,
        serving="b" if vm.serving == "b" else "a",
        keep=keep,
        linger=rules.linger_seconds if linger is None else linger,
        borrowed=await borrowed(session, vm),
        ahead=ahead,
        initiation=vm.anew if anew else None,
        asked_in=tracing.headers().get("traceparent", ""),
        tuning=Tuning(
            downtime_ms=rules.downtime_ms,
            compression=rules.compression,
            post_copy=rules.post_copy and not ahead,
            keep=Keep(seconds=rules.keep_seconds, bytes=rules.keep_bytes) if rules.keep_seconds else None,
            mirror=rules.mirror_bytes,
            direct=await steps_aside(session, rules, vm.made_of.driver, (source.cloudlet, destination.cloudlet), now()),
        ),
    )
    authorise(intent, plan)
    return plan


def owed_by(row: MoveRow) -> set[str]:
    """Return the cloudlets that still have work to do for a move after its end."""
    return {row.source if task.side == "source" else row.destination for task in row.kept.tasks}


def _place(intent: Intent, endpoint: str) -> MoveEnd:
    cloudlet = intent.cloudlets[intent.endpoints[endpoint].cloudlet]
    return MoveEnd(cloudlet.name, endpoint, cloudlet.vtep)
