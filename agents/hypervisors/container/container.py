"""One container, and its folder."""

import asyncio
import json
import shutil
from contextlib import suppress
from pathlib import Path
from time import monotonic

from agents.hypervisors.bridge_ports import unplug
from agents.hypervisors.container import bundle, rootfs, vnics
from agents.hypervisors.container.control_group import group
from agents.hypervisors.container.dumps import Dumps
from agents.hypervisors.container.guest import Guest
from agents.hypervisors.container.runc import Runc, Status
from agents.hypervisors.container.sandbox import Sandbox
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.record import Record, load, save
from agents.hypervisors.weft_transfer import WeftTransfer
from controller.wire.machines import Condition, MachineState, Nic

SOCKET = "rounds"
"""The socket at which the container's weft-transfer takes orders."""

_MEASURED = 10.0  # seconds between two measurements of memory: each is a process

MOST_OUTPUT = 1 << 20
"""Bytes of a container's output that are kept."""


class Container:
    """The container of `folder`, whether it is there or not."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder
        self.sandbox = Sandbox(folder)
        self.runtime = Runc(folder, self.sandbox)
        self.guest = Guest(folder, self.sandbox)
        self.transfer = WeftTransfer(folder, SOCKET)
        self._used: int | None = None  # bytes of memory
        self._due = 0.0  # when that is measured again

    def record(self) -> Record | None:
        return load(self.folder)

    def known(self) -> Record:
        """Return the record. Raises HypervisorError if there is no such container."""
        found = self.record()
        if found is None:
            raise HypervisorError(f"{self.name}: there is no such container here")
        return found

    def save(self, kept: Record) -> None:
        save(self.folder, kept)

    async def condition(self) -> Condition:
        return (await self.state()).condition

    async def state(self) -> MachineState:
        """Return the state. Raises HypervisorError if it cannot be found out."""
        kept = self.record()
        if kept is None:
            return MachineState(name=self.name, condition="gone")
        condition, detail = seen(kept, await self.runtime.status(), self.sandbox.pid() is not None)
        return MachineState(name=self.name, condition=condition, serving=kept.serving, detail=detail)

    async def look(self) -> MachineState:
        """Return the state for a list, with the memory that is used, and keep the container's output short."""
        try:
            found = await self.state()
        except HypervisorError as error:
            return MachineState(name=self.name, condition="unresponsive", detail=str(error)[:400])
        if found.condition == "running":
            if monotonic() >= self._due:
                self._used, self._due = await self.runtime.memory_used(), monotonic() + _MEASURED
            found = found.model_copy(update={"memory_used": self._used})
        with suppress(OSError):
            if self.runtime.output.stat().st_size > MOST_OUTPUT:
                self.runtime.output.write_bytes(b"")  # its writer appends
        return found

    async def make(self, unpacked: Path) -> None:
        """Make all that the record describes, except the container's processes. Raises HypervisorError."""
        kept = self.known()
        await self.sandbox.open()
        await vnics.make(self.folder, kept, self.sandbox)
        await rootfs.mount(self.folder, self.sandbox, unpacked / "rootfs")
        self.guest.configure(self.name)
        image = json.loads((unpacked / bundle.CONFIG).read_text())
        config = bundle.config(image, kept.machine, str(self.folder), group(self.folder))
        (self.folder / bundle.CONFIG).write_text(json.dumps(config))

    async def link(self, nic: Nic, up: bool) -> None:
        """Connect the vNIC's cable, or disconnect it. One that waits or has moved is on no bridge."""
        kept = self.known()
        kept.plug(nic, up)
        self.save(kept)
        if (await self.state()).condition in ("running", "paused"):
            await vnics.plug(self.folder, kept, nic)

    async def forget_memory(self) -> None:
        """Delete the dumps of the container's memory."""
        await asyncio.to_thread(Dumps(self.folder).clear)

    async def remove(self, upper: bool = True) -> None:
        """End everything of the container, and delete it; what it has written only if `upper` is set."""
        if not self.folder.is_dir():
            return
        await self.runtime.delete()
        await self.transfer.end()
        await self.sandbox.close()
        await unplug(self.folder)
        await self.forget_memory()
        if upper:
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


def seen(record: Record, status: Status, waits: bool) -> tuple[Condition, str]:
    """Return the condition, and a text about its cause. `waits` says that its sandbox is there. Pure."""
    move = record.move
    handed = move is not None and move.role == "outgoing" and move.handed is not None
    if status == "running":
        return "running", ""
    if status in ("paused", "pausing"):
        return ("moved", "") if handed else ("paused", "")
    if handed:
        return "moved", "its processes have ended"
    if move is not None and move.role == "incoming":
        return ("waiting", "") if waits else ("stopped", "its sandbox ended while it waited for its state")
    return "stopped", "its processes have ended"
