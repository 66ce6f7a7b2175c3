"""The host's ends of a machine's vNICs: tap devices on a LAN's bridge."""

import hashlib
from pathlib import Path

from agents.hypervisors.hypervisor import Attachment, HypervisorError
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import AddTap, DeleteLinks, Enslave, SetLink
from controller.wire.machines import NICS, Nic


def tap(folder: Path, nic: Nic) -> str:
    """Return the device's name, with the 15 characters that a name may have. It is a digest of the machine's folder:
    the machine's own name would be too long, and two cloudlets may share a kernel."""
    return f"wv{hashlib.blake2b(bytes(folder), digest_size=6).hexdigest()}{nic}"


async def plug(folder: Path, attachment: Attachment) -> None:
    """Make both vNICs' taps, up and on the bridge. Raises HypervisorError."""
    try:
        async with Kernel() as kernel:
            for nic in NICS:
                name = tap(folder, nic)
                await kernel.apply(AddTap(name))
                await kernel.apply(SetLink(name, mtu=attachment.mtu))
                await kernel.apply(Enslave(name, attachment.bridge))
    except KernelError as error:
        raise HypervisorError(f"{folder.name} cannot be attached to {attachment.bridge}: {error}") from error


async def unplug(folder: Path) -> None:
    """Delete both taps. Raises HypervisorError."""
    try:
        async with Kernel() as kernel:
            await kernel.apply(DeleteLinks(tuple(tap(folder, nic) for nic in NICS)))
    except KernelError as error:
        raise HypervisorError(f"{folder.name}: {error}") from error
