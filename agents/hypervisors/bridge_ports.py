"""The host's ends of a machine's vNICs: ports of a LAN's bridge."""

import hashlib
from pathlib import Path

from agents.hypervisors.hypervisor import HypervisorError
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import DeleteLinks
from controller.wire.machines import NICS, Nic


def port(folder: Path, nic: Nic) -> str:
    """Return the device's name, with the 15 characters that a name may have. It is a digest of the machine's folder:
    the machine's own name would be too long, and two cloudlets may share a kernel."""
    return f"wv{hashlib.blake2b(bytes(folder), digest_size=6).hexdigest()}{nic}"


async def unplug(folder: Path) -> None:
    """Delete the devices of both vNICs. Raises HypervisorError."""
    try:
        async with Kernel() as kernel:
            await kernel.apply(DeleteLinks(tuple(port(folder, nic) for nic in NICS)))
    except KernelError as error:
        raise HypervisorError(f"{folder.name}: {error}") from error
