"""A machine of this cloudlet as a domain of a libvirtd. Its state is found as by the `qemu` driver, from its folder and
its QEMU. Holding, aborting or ending it therefore works without libvirtd."""

import shutil
from contextlib import suppress
from pathlib import Path
from uuid import UUID, uuid5

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.libvirt.connection import Connection, LibvirtAway
from agents.hypervisors.libvirt.description import BALLOON, description
from agents.hypervisors.libvirt.guest_agent import DomainAgent
from agents.hypervisors.qemu import process
from agents.hypervisors.qemu.command_line import PROGRAM, Accelerator
from agents.hypervisors.qemu.image import Image
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.weft_transfer import DISK_SOCKET, SOCKET
from controller.wire.machines import Nic

_OURS = UUID("5d0c7a4e-6f0b-4b37-9d0e-6c1f5f0f3d55")


class Domain(Vm):
    """One machine, known to libvirt by a UUID that follows from its name and that no other domain has."""

    balloon = f"/machine/peripheral/{BALLOON}"

    def __init__(self, folder: Path, libvirt: Connection) -> None:
        super().__init__(folder)
        self.uuid = str(uuid5(_OURS, self.name))
        self._libvirt = libvirt
        self.socket, self.disk_socket = (str(folder / name) for name in (SOCKET, DISK_SOCKET))  # QEMU works elsewhere
        self.agent = DomainAgent(self.name, self.uuid, libvirt)

    async def spawn(self, files: Image, accelerator: Accelerator) -> None:
        kept = self.known()
        emulator = shutil.which(PROGRAM) or PROGRAM
        xml = description(
            kept, self.uuid, self.folder, files, accelerator, emulator, await self._libvirt.confinements()
        )
        for name in ("monitor", "rescue"):
            (self.folder / name).unlink(missing_ok=True)
        try:
            await self._libvirt.create(xml)
        except HypervisorError as error:
            raise HypervisorError(f"{self.name}: QEMU did not start: {error}") from error

    async def connect(self, nic: Nic, up: bool) -> None:
        mac = dict(zip(("a", "b"), self.known().machine.macs, strict=True))[nic]
        await self._libvirt.connect(self.uuid, mac, up)

    async def remove(self, disk: bool = True) -> None:
        """End QEMU at once; then libvirt tidies up, if it answers. libvirt alone would ask QEMU to end and wait for it,
        while the other end of a move hangs on a connection that nobody serves."""
        await process.end(self.folder)
        await self.finish()
        with suppress(LibvirtAway):
            await self._libvirt.destroy(self.uuid)
        if disk:
            shutil.rmtree(self.folder, ignore_errors=True)
