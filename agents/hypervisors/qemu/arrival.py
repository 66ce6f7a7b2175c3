"""A machine that comes here: it waits, has arrived, runs."""

import asyncio
import logging
from collections.abc import Sequence
from time import monotonic

from agents.hypervisors.hypervisor import Attachment, Fenced, Site
from agents.hypervisors.qemu import destination, thin_line, transfer
from agents.hypervisors.qemu.boot import boot
from agents.hypervisors.qemu.condition import VAIN
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.monitor import Garbled, MonitorAway, Session
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move
from agents.hypervisors.target import disk, memory
from agents.hypervisors.weft_transfer import at_once
from controller.wire.machines import Machine, Nic
from controller.wire.moves import Figures, Target

log = logging.getLogger(__name__)

_LATE = 5.0  # seconds that the destination may need to see that it could run


async def prepare(
    site: Site,
    vm: Vm,
    machine: Machine,
    attachment: Attachment,
    serving: Nic,
    move: Move,
    addresses: Sequence[str],
    digests: Digests,
) -> Target:
    """Let the machine wait here, and return where. One that already waits for the same move is left as it is, unless
    its transfer has failed."""
    kept, state = vm.record(), await vm.state()
    known = kept.move if kept is not None else None
    ours = known is not None and (known.name, known.role) == (move.name, "incoming")
    if state.condition in ("running", "paused") or (state.condition == "waiting" and not ours):
        raise Fenced(f"{machine.name} is {state.condition} here")
    if known is not None and known.target is not None and state.condition == "waiting" and VAIN not in state.detail:
        return known.target
    await leave(vm)
    await vm.remove()
    try:
        await boot(site, vm, machine, attachment, serving, move, digests)
        async with vm.monitor.session() as session:
            sockets = vm.socket, vm.disk_socket if machine.disk is not None else None
            waits = await destination.wait(session, addresses, move.tuning, site.options, *sockets)
        if transfer.thin(move.tuning, site.options):
            several, known_here = len(addresses) > 1, vm.known()
            ends = [vm.transfer.receive(thin_line.session(site, known_here, move, memory(waits)[0], several))]
            if waits.disk is not None:
                ends.append(vm.disk_transfer.receive(thin_line.disk(site, known_here, move, disk(waits), several)))
            await at_once(*ends)
        new = vm.known()
        move.target = waits.model_copy(update={"platform": new.platform})
        new.move = move
        vm.save(new)
    except BaseException:
        await vm.remove()
        raise
    return move.target


async def arrived(vm: Vm, move: str) -> bool:
    """Return whether all that the machine needs to run is here, or was here and has been run."""
    kept = vm.record()
    if kept is None or kept.move is None or kept.move.name != move:
        return False
    if kept.move.role == "arrived":
        return True
    if kept.move.role == "outgoing" or not vm.runs():
        return False
    async with vm.monitor.session() as session:
        return await destination.arrived(session)


async def activate(vm: Vm, move: str) -> Figures:
    """Run the machine. Raises Fenced if that move did not bring it here, or not all of it."""
    kept, began = vm.known(), monotonic()
    if kept.move is None or kept.move.name != move or kept.move.role == "outgoing":
        raise Fenced(f"{vm.name} was not brought here by move {move}")
    if kept.move.role != "arrived":
        if not vm.runs():
            raise Fenced(f"{vm.name}: it waits here no longer")
        if kept.move.tuning.post_copy:
            await _greet(vm)
        async with vm.monitor.session() as session:
            await _all_here(vm.name, session, _LATE if kept.move.tuning.post_copy else 0.0)
            await destination.release(session)
            try:
                await session.execute("cont")
            except (MonitorAway, Garbled) as away:  # it was told, and may have run, even for a moment
                log.warning("%s: %s", vm.name, away)
        kept.move.role = "arrived"
        vm.save(kept)
    await destination.leave(kept.move.target)
    return Figures(seconds=monotonic() - began)


async def _all_here(name: str, session: Session, seconds: float) -> None:
    """Raise Fenced if something is still missing after that time. In post-copy the source does not wait until the
    destination has seen that it could run."""
    deadline = monotonic() + seconds
    while not await destination.arrived(session):
        if monotonic() >= deadline:
            raise Fenced(f"{name}: not all of its state is here")
        await asyncio.sleep(0.01)


async def _greet(vm: Vm) -> None:
    """Open a session on the rescue monitor before the guest runs. After that QEMU may wait for a page at any time, and
    greets no client while it waits."""
    try:
        await vm.rescue.greet()
    except MonitorAway as away:
        log.warning("%s runs, but nobody could help it if the path were cut: %s", vm.name, away)


async def leave(vm: Vm) -> None:
    """Stop waiting at the additional addresses."""
    kept = vm.record()
    if kept is not None and kept.move is not None and kept.move.role != "outgoing":
        await destination.leave(kept.move.target)
