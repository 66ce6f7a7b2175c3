"""The record of a machine for a restart of the agent: its description and its move, but not whether it runs."""

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
    """A move as this side knows it. `handed`: the figures of the switchover; from then on only `abort` lets the source
    run the machine again. `whole`: at the destination, no memory is on the way any more. `peer`: the other
    cloudlet, if the agent has said which."""

    model_config = ConfigDict(extra="forbid")

    name: str
    role: Literal["outgoing", "incoming", "arrived"]
    target: Target | None = None
    tuning: Tuning = Tuning()
    handed: Figures | None = None
    peer: str | None = None
    whole: bool = False

    @property
    def irrevocable(self) -> bool:
        """Whether the machine has left by post-copy: the destination has the only state that is whole, or never will
        have it."""
        return self.role == "outgoing" and self.tuning.post_copy and self.handed is not None

    @property
    def coming(self) -> bool:
        """Whether the machine runs here, and may be waiting for some of its memory."""
        return self.role == "arrived" and self.tuning.post_copy and not self.whole


class Record(BaseModel):
    """One machine. `links`: whether each vNIC's cable is in; `serving`: the vNIC that serves. `platform`: the platform
    when its QEMU was started; None if an older release started it."""

    model_config = ConfigDict(extra="forbid")

    machine: Machine
    bridge: str
    mtu: int
    serving: Nic
    links: dict[Nic, bool]
    move: Move | None = None
    platform: Platform | None = None

    def plug(self, nic: Nic, up: bool) -> None:
        """Set the cable of `nic`. If only one vNIC has a cable, it serves."""
        self.links[nic] = up
        connected = [name for name, there in self.links.items() if there]
        if len(connected) == 1:
            self.serving = connected[0]


def load(folder: Path) -> Record | None:
    """Return the record; None if there is none. Raises HypervisorError if it cannot be read."""
    path = folder / FILE
    try:
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise HypervisorError(f"{path} cannot be read: {error}") from error


def images(state_dir: Path) -> frozenset[str]:
    """Return the images, and the bases of disks, of all machines below a driver's directory. Raises HypervisorError if
    one of their records cannot be read."""
    found = set[str]()
    for path in state_dir.glob(f"*/{FILE}"):
        if (record := load(path.parent)) is not None:
            found.add(record.machine.image)
            if record.machine.disk is not None:
                found.add(record.machine.disk.base)
    return frozenset(found)


def save(folder: Path, record: Record) -> None:
    """Store the record; it is on the disk when this returns. Raises HypervisorError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        durable.replace(folder / FILE, record.model_dump_json(indent=1))
    except OSError as error:
        raise HypervisorError(f"{folder}: {error.strerror}") from error
