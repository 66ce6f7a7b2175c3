"""Simulated machines as files: they survive the agent, and a driver of another agent can hand machines over to them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agents.hypervisors.hypervisor import HypervisorError
from agents.storage import durable
from controller.wire.machines import Condition, Machine, MachineState, Nic
from controller.wire.moves import Figures


class Record(BaseModel):
    """One machine. `boot` is set when it boots and moves with it. `leaving` is the move that takes it away, `coming`
    the move that brought it. While it leaves, `copied` names the parts that are the same at the target. `arrived`: a
    waiting machine has all of its state; `ran`: it has been activated; `frozen`: the machine answers nothing."""

    model_config = ConfigDict(extra="forbid")

    machine: Machine
    condition: Condition
    serving: Nic
    bridge: str
    boot: str = ""
    links: dict[Nic, bool]
    leaving: str | None = None
    coming: str | None = None
    target: str | None = None
    copied: set[str] = set()
    arrived: bool = False
    ran: bool = False
    handed: Figures = Figures()
    announced: int = 0
    frozen: bool = False

    def state(self, memory_used: int, dirty_rate: float) -> MachineState:
        """Return the state as it is reported."""
        if self.frozen:
            return MachineState(name=self.machine.name, condition="unresponsive", serving=self.serving)
        runs = self.condition == "running"
        return MachineState(
            name=self.machine.name,
            condition=self.condition,
            serving=self.serving,
            memory_used=memory_used if runs else None,
            dirty_rate=dirty_rate if runs else None,
            detail=f"simulated, booted as {self.boot}" if self.boot else "simulated",
        )


class Machines:
    """The machines of one simulated hypervisor, one file each below `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "machines"
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def change(self, name: str) -> Iterator[Record | None]:
        """Yield the machine. No other process or task changes any machine meanwhile."""
        descriptor = os.open(self._directory / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield self.read(name)
        finally:
            os.close(descriptor)

    def turn(self, name: str, **changes: object) -> None:
        """Change some fields. Raises HypervisorError if there is no such machine."""
        with self.change(name):
            self.write(self.here(name).model_copy(update=changes))

    def here(self, name: str) -> Record:
        """Return the machine. Raises HypervisorError if there is no such machine."""
        record = self.read(name)
        if record is None:
            raise HypervisorError(f"there is no simulated machine {name}")
        return record

    def awaited(self, name: str, move: str) -> Record:
        """Return the machine that waits here for its state. Raises HypervisorError if none does."""
        record = self.read(name)
        if record is None or record.coming != move or record.condition != "waiting":
            raise HypervisorError(f"the destination does not wait for {name}")
        return record

    def all(self) -> dict[str, Record]:
        """Return all machines by name."""
        found = (self.read(path.stem) for path in sorted(self._directory.glob("*.json")))
        return {record.machine.name: record for record in found if record is not None}

    def read(self, name: str) -> Record | None:
        """Return the machine; None if there is no such machine."""
        try:
            return Record.model_validate_json((self._directory / f"{name}.json").read_text())
        except FileNotFoundError:
            return None

    def write(self, record: Record) -> None:
        """Replace the file of the machine."""
        path = self._directory / f"{record.machine.name}.json"
        durable.replace(path, record.model_dump_json())

    def remove(self, name: str) -> None:
        """Delete the file of the machine."""
        (self._directory / f"{name}.json").unlink(missing_ok=True)
