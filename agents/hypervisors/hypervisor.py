"""The interface of a hypervisor driver: all calls that an agent makes (docs/contribute/drivers.md is the author's
guide).

The agent finds a driver by its entry point in the group `weft.hypervisors`, a callable `(Site) -> Hypervisor`. Any call
may come twice. After a restart of the agent, the driver finds its machines again by their names: it looks at what runs,
and does not rely on memory. A call either does what it says, or raises and leaves everything as it was. It may be
cancelled; the agent then repeats it or calls `abort`. `tests/conformance` has a test for every rule.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform


class HypervisorError(Exception):
    """Raised when a call failed and may be tried again. The text is for the operator."""


class Refused(HypervisorError):  # noqa: N818 - an answer
    """Raised when a call cannot work here, however often it is tried: no room, no such image, not supported by the
    driver."""


class Fenced(HypervisorError):  # noqa: N818 - an answer
    """Raised when the machine's state does not allow the call: it runs, it has moved, or it belongs to another move."""


@dataclass
class Site:
    """The place where a driver works. `state_dir` belongs to the driver and survives restarts; `images` has the shared
    images. Other cloudlets reach this one at `address`, and at all `paths`: the agent sets both again when the
    cloudlet's VTEP changes, so drivers read them when they need them. `options` come from the agent's configuration.
    `identity` is the directory with the cloudlet's key and certificate, if the region has an authority
    (docs/operate/identity.md)."""

    cloudlet: str
    state_dir: Path
    images: Path
    address: str
    paths: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    identity: Path | None = None

    @property
    def addresses(self) -> list[str]:
        """The addresses at which other cloudlets reach this one, each once."""
        return list(dict.fromkeys((self.address, *self.paths)))


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a driver. The agent asks for nothing that is not among them."""

    version: str
    live: bool = True
    disk: bool = False
    multipath: bool = False
    post_copy: bool = False
    compression: bool = False
    guest: bool = False


@dataclass(frozen=True)
class Attachment:
    """The attachment of a machine's vNICs: a LAN's bridge, and its MTU in bytes. The driver names the bridge ports,
    with `wv` in front (or the agent would take them off the bridge), and does not isolate them."""

    bridge: str
    mtu: int


class Hypervisor(Protocol):
    """One cloudlet's hypervisor. `name` is the machine's name, `move` the move's name."""

    async def capabilities(self) -> Capabilities:
        """Return what the driver can do here, found out by trying."""

    async def machines(self) -> Mapping[str, MachineState]:
        """Return all machines here by name, running or not. A machine that does not answer is `unresponsive`, and does
        not delay the others."""

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        """Boot the machine, unless it runs already. Raises Fenced if it has moved away, or waits for its state."""

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        """Let the machine wait for its state, with its disk made and offered to the source. The same move gets the same
        answer. The source gets the same `tuning`: both ends must agree on it before the first byte."""

    def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Copy the disk, and keep the copy equal until the switchover. Yield the progress at intervals, and end when
        the copy is equal. Not called for a machine without a disk."""

    def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Copy the memory while the machine runs. End when the rest fits into a pause of `tuning.downtime_ms`. A driver
        that is not live copies nothing yet, and only makes sure that the machine could go there."""

    async def switchover(self, name: str, move: str) -> Figures:
        """Stop the machine and hand over the rest. It is then `moved`, and only `abort` makes it run again. If this
        raises, the machine is as it was before, or paused, and never `moved`."""

    async def arrived(self, name: str, move: str) -> bool:
        """Return, at the destination, whether that move has brought all of the machine's state, so that it could run.
        If the machine has ended: whether that move has run it here, even for a moment. Raises HypervisorError if that
        cannot be found out."""

    async def activate(self, name: str, move: str) -> Figures:
        """Run the machine with the state that has arrived. Raises Fenced if a part is missing. If this move has run the
        machine here and it has ended since, it is not run again, and no error is raised."""

    async def hold(self, name: str) -> None:
        """Make sure that the machine does not run: pause it if it does."""

    async def abort(self, name: str, move: str) -> None:
        """Undo the move as if it had not been. The source runs on. At a destination the machine that this move brought
        is removed, whether it waits, is paused or runs. A machine that another move, or none, brought here is never
        touched."""

    async def discard(self, name: str) -> None:
        """Delete everything of the machine. Raises Fenced if it runs, or waits for its state: that is for `abort`."""

    async def stop(self, name: str) -> None:
        """Shut the machine down, and delete everything except its disk. End it if it does not answer."""

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        """Connect the vNIC's cable, or disconnect it."""

    async def announce(self, name: str) -> None:
        """Announce on the LAN where the machine is: by gratuitous ARP and unsolicited NA, sent by the machine's own
        vNIC."""

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        """Run a program in the guest and return its output. Raises HypervisorError if it failed, or if no agent in the
        guest runs programs."""


@runtime_checkable
class Comparable(Protocol):
    """A driver that describes its platform, all that machines find here, also in `platform` of its targets. It refuses
    to copy to a target with another platform than the machine's (`Refused`, before the first byte). Optional."""

    async def platform(self) -> Platform:
        """Return the platform that machines find here now, with all images. Raises HypervisorError."""


@runtime_checkable
class Stocked(Protocol):
    """A driver that says which images its machines need. The agent removes no image as long as a driver that does not
    say so is in use. Optional."""

    def images(self) -> frozenset[str]:
        """Return the images, and bases of disks, of all machines here, running or not. Raises HypervisorError if that
        cannot be found out."""


@runtime_checkable
class Answering(Protocol):
    """A driver that can reach an agent in the guest without the guest's network. Optional."""

    async def answers(self, name: str) -> bool:
        """Return whether an agent in the guest of a machine that runs here answers now. This may take long. It is not
        called for a machine that is being moved. Raises HypervisorError if that cannot be found out."""


@runtime_checkable
class Introduced(Protocol):
    """A driver whose two ends authenticate each other. Optional."""

    def introduce(self, move: str, peer: str) -> None:
        """Note which cloudlet is at the other end of a move. The agent calls this before `prepare`, `disk` and
        `memory`."""


@runtime_checkable
class Networked(Protocol):
    """A driver whose sources connect to places that targets name. The agent of another cloudlet writes the target, and
    is not trusted. Drivers whose targets are no network addresses need not have this."""

    def check(self, machine: Machine, target: Target, peer: str) -> None:
        """Raise Refused, with the reason, unless the target leads only to the cloudlet whose tunnel address is `peer`.
        Connect to nothing, and remember nothing."""
