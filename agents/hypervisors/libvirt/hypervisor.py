"""The driver: libvirt starts and ends machines, moves their cables and talks to their guests; moves are QEMU's own."""

import shutil
from dataclasses import replace

from agents.hypervisors.hypervisor import Capabilities, Site
from agents.hypervisors.libvirt.connection import Connection
from agents.hypervisors.libvirt.domain import Domain
from agents.hypervisors.qemu.command_line import PROGRAM
from agents.hypervisors.qemu.hypervisor import Qemu
from controller.wire.platforms import Platform

URI = "qemu:///system"
"""Of the libvirtd, unless the option `uri` names another."""


class Libvirt(Qemu):
    """All machines of one cloudlet that a libvirtd keeps.

    libvirt's migration cannot keep the rules of a move: it ends the source as soon as the destination has everything,
    so that nothing could be taken back, and when it fails or the libvirtd is restarted in the middle it lets the source
    run again by itself. So QEMU is told how to move on a monitor of ours, as by the `qemu` driver, and a libvirtd that
    dies on the way is not missed."""

    def __init__(self, site: Site) -> None:
        self._libvirt = Connection(site.options.get("uri", URI))
        super().__init__(site, lambda folder: Domain(folder, self._libvirt))

    async def capabilities(self) -> Capabilities:
        found = await super().capabilities()
        return replace(found, version=f"libvirt {await self._libvirt.version()}, {found.version}")

    async def platform(self) -> Platform:
        """CPU models are those that libvirt has a name for, too."""
        found = await super().platform()
        emulator = shutil.which(PROGRAM) or PROGRAM
        known = await self._libvirt.models(emulator, found.board, found.accelerator)
        there = {name: model for name, model in (found.models or {}).items() if name in known}
        return found.model_copy(update={"models": there})
