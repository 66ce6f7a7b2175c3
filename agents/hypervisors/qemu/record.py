"""What is kept of a machine for a restart of the agent: its description and its move. What runs is never read here."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.hypervisors.hypervisor import HypervisorError
from agents.storage import durable
from controller.wire.machines import Machine, Nic
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform

FILE = "machine.json"


class Move(BaseModel):
    """A move as this side knows it. `handed`: what the switchover said; from then on the source never runs the machine
    again unless by `abort`. `whole`: at the destination, no memory is on the way any more."""

    model_config = ConfigDict(extra="forbid")

    name: str
    role: Literal["outgoing", "incoming", "arrived"]
    target: Target | None = None
    tuning: Tuning = Tuning()
    handed: Figures | None = None
    whole: bool = False

    @property
    def coming(self) -> bool:
        """Whether the machine runs here, and may be waiting for some of its memory."""
        return self.role == "arrived" and self.tuning.post_copy and not self.whole


class Record(BaseModel):
    """One machine. `links` are the vNICs' cables; `serving` the one that serves. `platform` is what its QEMU found
    when it was started; None if an older release started it."""

    model_config = ConfigDict(extra="forbid")

    machine: Machine
    bridge: str
    mtu: int
    serving: Nic
    links: dict[Nic, bool]
    move: Move | None = None
    platform: Platform | None = None

    def plug(self, nic: Nic, up: bool) -> None:
        """The cable of `nic`. The only vNIC with a cable serves."""
        self.links[nic] = up
        connected = [name for name, there in self.links.items() if there]
        if len(connected) == 1:
            self.serving = connected[0]


def load(folder: Path) -> Record | None:
    """None if there is none. Raises HypervisorError if it cannot be read."""
    path = folder / FILE
    try:
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise HypervisorError(f"{path} cannot be read: {error}") from error


def save(folder: Path, record: Record) -> None:
    """On the disk when it returns. Raises HypervisorError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        durable.replace(folder / FILE, record.model_dump_json(indent=1))
    except OSError as error:
        raise HypervisorError(f"{folder}: {error.strerror}") from error
