"""The beginning of a machine: a QEMU whose guest does not run yet, and the guest's first start."""

from agents.hypervisors.host_load import memory_free
from agents.hypervisors.hypervisor import Attachment, Fenced, Refused, Site
from agents.hypervisors.qemu import overlay
from agents.hypervisors.qemu.accelerator import accelerator, version
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.image import image
from agents.hypervisors.qemu.platform import platform
from agents.hypervisors.qemu.processor import missing
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move, Record
from controller.wire.machines import NICS, Machine, Nic


async def start(site: Site, vm: Vm, machine: Machine, attachment: Attachment, serving: Nic, digests: Digests) -> None:
    """Run the machine, from its own disk if it has been here before. Raises Fenced, Refused, HypervisorError."""
    kept, state = vm.record(), await vm.state()
    if state.condition == "running":
        return
    begun = state.condition == "paused" and state.detail == "prelaunch" and kept is not None and kept.move is None
    if state.condition in ("moved", "waiting", "paused") and not begun:
        raise Fenced(f"{machine.name} is {state.condition} here{state.detail and f': {state.detail}'}")
    if not begun:
        await vm.remove(disk=False)
        await boot(site, vm, machine, attachment, serving, None, digests)
    await vm.monitor.execute("cont")


async def boot(
    site: Site,
    vm: Vm,
    machine: Machine,
    attachment: Attachment,
    serving: Nic,
    move: Move | None,
    digests: Digests,
) -> None:
    """Start a QEMU whose guest does not run yet; with `move` it waits for the guest's state. The machine's description
    is on the disk before anything is made, and its platform before the guest runs. Features of a CPU model that this
    host lacks are refused: QEMU itself leaves them out silently."""
    await version()
    files = image(site.images, machine)
    if machine.memory > (free := memory_free()):
        raise Refused(f"{machine.name} needs {machine.memory} bytes of memory; {free} are available here")
    runs = (await accelerator(site.state_dir, site.images, site.options)).of(machine)
    links = {nic: nic == serving for nic in NICS}
    vm.save(
        Record(machine=machine, bridge=attachment.bridge, mtu=attachment.mtu, serving=serving, links=links, move=move)
    )
    await overlay.make(machine, vm.folder, files, fresh=move is not None)
    await vm.spawn(files, runs)
    async with vm.monitor.session() as session:
        lacks = await missing(session) if machine.cpu is not None else []
        found = await platform(session, machine, files, runs, digests)
    if lacks:
        await vm.remove(disk=False)
        raise Refused(f"{machine.name} cannot have the CPU {machine.cpu} here: it lacks {', '.join(lacks)}")
    kept = vm.known()
    kept.platform = found
    vm.save(kept)
