"""The host's ends of a machine's vNICs: tap devices on a LAN's bridge."""

from pathlib import Path

from agents.hypervisors.bridge_ports import port
from agents.hypervisors.hypervisor import Attachment, HypervisorError
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import AddTap, Enslave, SetLink
from controller.wire.machines import NICS


async def plug(folder: Path, attachment: Attachment) -> None:
    """Make both vNICs' taps, up and on the bridge. Raises HypervisorError."""
    try:
        async with Kernel() as kernel:
            for nic in NICS:
                name = port(folder, nic)
                await kernel.apply(AddTap(name))
                await kernel.apply(SetLink(name, mtu=attachment.mtu))
                await kernel.apply(Enslave(name, attachment.bridge))
    except KernelError as error:
        raise HypervisorError(f"{folder.name} cannot be attached to {attachment.bridge}: {error}") from error
