"""The driver: libvirt starts and ends machines, connects their cables and talks to their guests; QEMU does the
moves."""

import shutil
from dataclasses import replace

from agents.hypervisors.hypervisor import Capabilities, Site
from agents.hypervisors.libvirt.connection import Connection
from agents.hypervisors.libvirt.domain import Domain
from agents.hypervisors.qemu.command_line import PROGRAM
from agents.hypervisors.qemu.hypervisor import Qemu
from controller.wire.platforms import Platform

URI = "qemu:///system"
"""The URI of the libvirtd, unless the option `uri` names another."""


class Libvirt(Qemu):
    """All machines of one cloudlet that a libvirtd keeps.

    libvirt's migration cannot keep the rules of a move. It ends the source as soon as the destination has everything,
    so that nothing could be undone. When it fails, or the libvirtd is restarted in the middle, it lets the source run
    again by itself. So the driver controls the move on a QEMU monitor of its own, as the `qemu` driver does. The move
    does not need the libvirtd, which may die meanwhile."""

    def __init__(self, site: Site) -> None:
        self._libvirt = Connection(site.options.get("uri", URI))
        super().__init__(site, lambda folder: Domain(folder, self._libvirt))

    async def capabilities(self) -> Capabilities:
        found = await super().capabilities()
        return replace(found, version=f"libvirt {await self._libvirt.version()}, {found.version}")

    async def platform(self) -> Platform:
        """Return the platform, without CPU models for which libvirt has no name."""
        found = await super().platform()
        emulator = shutil.which(PROGRAM) or PROGRAM
        known = await self._libvirt.models(emulator, found.board, found.accelerator)
        there = {name: model for name, model in (found.models or {}).items() if name in known}
        return found.model_copy(update={"models": there})
