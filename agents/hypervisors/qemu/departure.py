"""A machine that leaves: the start for a move, the switchover, and the way back."""

import logging

from agents.hypervisors.hypervisor import Fenced, Refused, Site
from agents.hypervisors.paths import leaves
from agents.hypervisors.qemu.accelerator import accelerator
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.image import image
from agents.hypervisors.qemu.platform import compare, platform
from agents.hypervisors.qemu.source import Source
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move
from agents.hypervisors.target import memory
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform

log = logging.getLogger(__name__)


async def begin(
    vm: Vm,
    move: str,
    target: Target,
    tuning: Tuning,
    site: Site,
    several: bool,
    digests: Digests,
    peer: str | None = None,
) -> Source:
    """Let the machine belong to this move. Raises Fenced if it belongs to another one, Refused if its QEMU does not run
    or the platform there differs, and HypervisorError if the destination would not accept packets from our source
    address. Nothing has been sent then."""
    kept = vm.known()
    if not vm.runs():
        raise Refused(f"{vm.name}: {vm.ended()}")
    now = kept.move
    if now is not None and now.name != move and now.role != "arrived":
        raise Fenced(f"{vm.name} belongs to move {now.name}")
    if now is None or now.name != move or now.target != target:
        leaves(memory(target)[0], site.address)
        if target.platform is None:
            log.warning(
                "%s: nothing compared before move %s: its destination does not say what is there", vm.name, move
            )
        else:
            compare(kept.machine, kept.platform or await _now(vm, site, digests), target.platform)
        kept.move = now = Move(name=move, role="outgoing", target=target, tuning=tuning, peer=peer)
        vm.save(kept)
    return Source(vm, now, site, several)


async def _now(vm: Vm, site: Site, digests: Digests) -> Platform:
    """Return the present platform, for a machine that an older release has started."""
    machine = vm.known().machine
    runs = (await accelerator(site.state_dir, site.images, site.options)).of(machine)
    async with vm.monitor.session() as session:
        return await platform(session, machine, image(site.images, machine), runs, digests)


async def switchover(vm: Vm, move: str, site: Site, several: bool) -> Figures:
    """Hand the machine over. A second call returns the same figures."""
    kept = vm.known()
    if kept.move is None or kept.move.name != move or kept.move.role != "outgoing":
        raise Fenced(f"{vm.name} is not on its way by move {move}")
    if kept.move.handed is None:
        if not vm.runs():
            raise Refused(f"{vm.name}: {vm.ended()}")
        kept.move.handed = await Source(vm, kept.move, site, several).switchover()
        vm.save(kept)
    return kept.move.handed


async def back(vm: Vm, site: Site) -> None:
    """End the departure. The machine runs on if its QEMU is there."""
    kept = vm.known()
    assert kept.move is not None
    if vm.runs():
        await Source(vm, kept.move, site, several=False).back()
    kept.move = None
    vm.save(kept)
