"""One machine of this cloudlet: its folder, its record, and the QEMU that may run it."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

from agents.hypervisors import record
from agents.hypervisors.bridge_ports import unplug
from agents.hypervisors.hypervisor import Attachment, HypervisorError
from agents.hypervisors.qemu import process, taps
from agents.hypervisors.qemu.command_line import Accelerator, command_line
from agents.hypervisors.qemu.condition import DEAF, SILENT, condition
from agents.hypervisors.qemu.guest_agent import GuestAgent
from agents.hypervisors.qemu.image import Image
from agents.hypervisors.qemu.monitor import Garbled, Monitor, MonitorAway, Session
from agents.hypervisors.record import Record
from agents.hypervisors.weft_transfer import DISK_SOCKET, SOCKET, WeftTransfer
from controller.wire.machines import Condition, MachineState, Nic

_STATISTICS = 5  # seconds between two looks of the balloon at the guest's memory
_ANSWER = 1.0  # seconds for an answer of a QEMU that may be waiting for a page
_LOOK = 1.5  # seconds for an answer of any QEMU when all are listed
_SILENCE = 5.0  # seconds without an answer until that is reported: a QEMU may be busy for a moment
_SAMPLING = 1  # seconds that a measurement of the dirty rate takes


class Vm:
    """One machine. Its state is found by looking; only properties that cannot be seen are read from the record. A
    subclass may let another program start and end its QEMU, and connect its cables."""

    balloon = "/machine/peripheral/balloon"
    """The balloon's QOM path."""

    socket, disk_socket = SOCKET, DISK_SOCKET
    """The addresses of weft-transfer's sockets for QEMU, which works in the machine's folder."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder
        self.monitor = Monitor(self.name, folder / "monitor")
        self.rescue = Monitor(self.name, folder / "rescue")  # for the guard
        self.agent = GuestAgent(self.name, folder / "agent")
        self.transfer, self.disk_transfer = WeftTransfer(folder), WeftTransfer(folder, DISK_SOCKET)
        self._last: MachineState | None = None

    def record(self) -> Record | None:
        return record.load(self.folder)

    def known(self) -> Record:
        """Return the record. Raises HypervisorError if there is no such machine."""
        found = self.record()
        if found is None:
            raise HypervisorError(f"{self.name}: there is no such machine here")
        return found

    def save(self, kept: Record) -> None:
        record.save(self.folder, kept)

    def runs(self) -> bool:
        """Return whether the machine has a QEMU, whatever that is doing."""
        return process.find(self.folder) is not None

    def ended(self) -> str:
        """Return a text for users: the machine has no QEMU any more, and the last output of that QEMU."""
        return "its QEMU does not run" + (f": {said}" if (said := process.said(self.folder)) else "")

    async def condition(self) -> Condition:
        return (await self.state()).condition

    async def seen(self) -> MachineState:
        """Return the state for a list: with measurements, and within a short time. `unresponsive` if QEMU has not
        answered for a while, in any session, or its answer cannot be read; until then, the state that was seen last."""
        try:
            async with asyncio.timeout(_LOOK):
                self._last = await self.state(measured=True)
        except (HypervisorError, TimeoutError) as error:
            if self._last is not None and not isinstance(error, Garbled) and self.monitor.silence < _SILENCE:
                return self._last
            unknown = isinstance(error, (TimeoutError, MonitorAway))
            detail, serving = SILENT if unknown else str(error)[:400], self._last.serving if self._last else None
            return MachineState(name=self.name, condition="unresponsive", serving=serving, detail=detail)
        return self._last

    async def state(self, measured: bool = False) -> MachineState:
        """Return the state; `measured`: with memory and dirty rate. Raises MonitorAway if it cannot be found out."""
        kept = self.record()
        if kept is None:
            return MachineState(name=self.name, condition="gone")
        if not self.runs():
            found, detail = condition(kept, None, "none")
            return MachineState(name=self.name, condition=found, serving=kept.serving, detail=detail)
        coming = kept.move is not None and kept.move.coming
        try:
            async with asyncio.timeout(_ANSWER if coming else None), self.monitor.session() as session:
                run_state = (await session.execute("query-status"))["status"]
                info = await session.execute("query-migrate")
                used, rate = await self._measure(session) if measured and run_state == "running" else (None, None)
        except (HypervisorError, TimeoutError):
            if self.runs() and coming:
                return MachineState(name=self.name, condition="running", serving=kept.serving, detail=DEAF)
            if self.runs():
                raise
            found, detail = condition(kept, None, "none")  # it ended while we asked
            return MachineState(name=self.name, condition=found, serving=kept.serving, detail=detail)
        found, detail = condition(kept, run_state, info.get("status", "none"))
        detail = "; ".join(filter(None, (detail, info.get("error-desc", ""))))[:400]
        return MachineState(
            name=self.name, condition=found, serving=kept.serving, memory_used=used, dirty_rate=rate, detail=detail
        )

    def arrived(self, move: str) -> None:
        """Note that all memory of this move is here."""
        kept = self.record()
        if kept is not None and kept.move is not None and (kept.move.name, kept.move.role) == (move, "arrived"):
            kept.move.whole = True
            self.save(kept)

    async def link(self, nic: Nic, up: bool) -> None:
        kept = self.known()
        kept.plug(nic, up)
        self.save(kept)
        if self.runs():
            await self.connect(nic, up)

    async def connect(self, nic: Nic, up: bool) -> None:
        """Set the cable of a vNIC while QEMU runs. Raises HypervisorError."""
        await self.monitor.execute("set_link", {"name": f"nic-{nic}", "up": up})

    async def spawn(self, files: Image, accelerator: Accelerator) -> None:
        """Start a QEMU as the record describes it, with a guest that does not run yet. Raises HypervisorError."""
        kept = self.known()
        await taps.plug(self.folder, Attachment(kept.bridge, kept.mtu))
        incoming = kept.move is not None
        argv = command_line(kept.machine, self.folder, files, accelerator, kept.mtu, incoming)
        await process.spawn(self.folder, argv, self.prepare)

    async def prepare(self) -> None:
        """Configure a QEMU that has just been started, and whose guest does not run yet."""
        kept = self.known()
        async with self.monitor.session() as session:
            for nic, up in kept.links.items():
                await session.execute("set_link", {"name": f"nic-{nic}", "up": up})
            polling = {"path": self.balloon, "property": "guest-stats-polling-interval"}
            await session.execute("qom-set", {**polling, "value": _STATISTICS})

    async def remove(self, disk: bool = True) -> None:
        """End QEMU, whatever it is doing, and remove everything of the machine; the disk only if `disk` is set."""
        await process.end(self.folder)
        await self.finish()
        await unplug(self.folder)
        if disk:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def finish(self) -> None:
        """Let the machine's weft-transfers end, as its QEMU has ended."""
        await asyncio.gather(self.transfer.finish(), self.disk_transfer.finish())

    async def _measure(self, session: Session) -> tuple[int | None, float | None]:
        """Return the bytes in use, as the guest's balloon reports them, and the bytes written per second, sampled since
        the last call."""
        found: dict[str, Any] = await session.execute("qom-get", {"path": self.balloon, "property": "guest-stats"})
        total, free = (found["stats"].get(key, -1) for key in ("stat-total-memory", "stat-free-memory"))
        used = total - free if 0 <= free <= total < 2**63 else None
        dirty = await session.execute("query-dirty-rate")
        if dirty["status"] != "measuring":
            await session.execute("calc-dirty-rate", {"calc-time": _SAMPLING})
        rate = dirty.get("dirty-rate", -1)
        return used, float(rate << 20) if rate >= 0 else None
