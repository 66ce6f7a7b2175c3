"""A container's vNICs: pairs of devices, of which one is in the sandbox and the other one a port of a LAN's bridge."""

import shutil
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.answer import Unreadable, read_json
from agents.hypervisors.bridge_ports import port
from agents.hypervisors.container.sandbox import Sandbox
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.record import Record
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import AddVeth, Enslave, Operation, Release, SetLink
from controller.wire.machines import NICS, Nic

DEVICES: dict[Nic, str] = {"a": "eth0", "b": "eth1"}
"""The vNICs' names in the container."""


class _Address(TypedDict):
    local: str


class _Interface(TypedDict):
    addr_info: NotRequired[list[_Address]]


_INTERFACES = TypeAdapter(list[_Interface])


async def make(folder: Path, record: Record, sandbox: Sandbox) -> None:
    """Make both vNICs, on no bridge yet. Raises HypervisorError."""
    pid = sandbox.pid()
    if pid is None:
        raise HypervisorError(f"{folder.name}: its sandbox has ended")
    steps: list[Operation] = [
        AddVeth(port(folder, nic), DEVICES[nic], mac, record.mtu, pid)
        for nic, mac in zip(NICS, record.machine.macs, strict=True)
    ]
    await _apply(folder, *steps)
    for nic in NICS:
        await sandbox.run("ip", "link", "set", DEVICES[nic], "up")


async def connect(folder: Path, record: Record) -> None:
    """Put both vNICs on the bridge, with their cables as the record says. Raises HypervisorError."""
    for nic in NICS:
        await plug(folder, record, nic)


async def plug(folder: Path, record: Record, nic: Nic) -> None:
    """Set a vNIC's cable as the record says. Raises HypervisorError."""
    name = port(folder, nic)
    if record.links[nic]:
        await _apply(folder, Enslave(name, record.bridge))
    else:
        await _apply(folder, SetLink(name, up=False))


async def detach(folder: Path) -> None:
    """Take both vNICs off the bridge, which the container does not notice. Raises HypervisorError."""
    await _apply(folder, *(Release(port(folder, nic)) for nic in NICS))


async def announce(sandbox: Sandbox, nic: Nic) -> None:
    """Tell the LAN where the vNIC's addresses are, by gratuitous ARP. Frames of IPv6 tell it as they go. Raises
    HypervisorError."""
    said = await sandbox.run("ip", "-json", "-4", "address", "show", "dev", DEVICES[nic])
    try:
        interfaces = read_json(_INTERFACES, said or "[]", 1 << 16)
    except Unreadable as error:
        raise HypervisorError(f"the answer of 'ip address show' {error}") from None
    for address in (one["local"] for interface in interfaces for one in interface.get("addr_info", [])):
        arping = ["arping"] if shutil.which("arping") else ["busybox", "arping"]
        await sandbox.run(*arping, "-q", "-U", "-c", "1", "-I", DEVICES[nic], address)


async def _apply(folder: Path, *operations: Operation) -> None:
    try:
        async with Kernel() as kernel:
            for operation in operations:
                await kernel.apply(operation)
    except (KernelError, OSError) as error:
        raise HypervisorError(f"{folder.name}: {error}") from error
