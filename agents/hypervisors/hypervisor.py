"""The interface of a hypervisor driver: all that an agent asks of one (docs/contribute/drivers.md is the author's
guide).

A driver is found by its entry point in the group `weft.hypervisors`, a callable `(Site) -> Hypervisor`. It may be
asked for the same thing twice, and after a restart of the agent finds its machines again by their names: what runs is
known by looking, not from memory. Each call either brings about what it says, or raises and leaves what was there; it
may be cancelled, and is then asked for again or aborted. `tests/conformance` has a test for every rule.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform


class HypervisorError(Exception):
    """It could not be done, and may be tried again. The text is for the operator."""


class Refused(HypervisorError):  # noqa: N818 - an answer
    """It cannot be done here, however often it is tried: no room, no such image, something the driver cannot do."""


class Fenced(HypervisorError):  # noqa: N818 - an answer
    """The machine is not in a state in which that may be done: it runs, it has moved, it belongs to another move."""


@dataclass(frozen=True)
class Site:
    """Where a driver works. `state_dir` is its own and survives restarts; `images` has the shared images; `address` is
    where other cloudlets reach this one, `paths` all addresses by which they do. `options` come from the agent's
    configuration."""

    cloudlet: str
    state_dir: Path
    images: Path
    address: str
    paths: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Capabilities:
    """What a driver can do. What it cannot is not asked of it."""

    version: str
    live: bool = True
    disk: bool = False
    multipath: bool = False
    post_copy: bool = False
    compression: bool = False
    guest: bool = False


@dataclass(frozen=True)
class Attachment:
    """What a machine's vNICs are attached to: a LAN's bridge, and its MTU in bytes. Bridge ports are named by the
    driver, with `wv` in front (or the agent would take them off the bridge), and isolated by nobody."""

    bridge: str
    mtu: int


class Hypervisor(Protocol):
    """One cloudlet's hypervisor. Names are machines' names; a `move` is the move's name."""

    async def capabilities(self) -> Capabilities:
        """What it can do here, found out by trying."""

    async def machines(self) -> Mapping[str, MachineState]:
        """All that there is of machines, running or not, by name. One that does not answer is `unresponsive`, and
        keeps nobody waiting for the others."""

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        """The machine runs: it is booted unless it runs already. Fenced if it has moved away, or waits for its
        state."""

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        """The machine waits for its state, its disk made and offered. The same move gets the same answer. `tuning` is
        what the source will be told as well: both ends must have agreed on how before the first byte."""

    def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Copies the disk, and keeps the copy the same until the switchover. Ends when it is the same; says how far it
        is now and then. Not asked of a machine without a disk."""

    def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Copies the memory while the machine runs. Ends when a pause of `tuning.downtime_ms` takes the rest. One that
        is not live copies nothing yet; it only makes sure that the machine could go there."""

    async def switchover(self, name: str, move: str) -> Figures:
        """Stops the machine and hands the rest over: afterwards it is `moved`, and never runs again unless by `abort`.
        If it raises, the machine is as it was before, or paused, and never `moved`."""

    async def arrived(self, name: str, move: str) -> bool:
        """At the destination: whether all of the machine's state is here by that move, so that it could run. Of one
        that has ended: whether that move has run it here, be it for a moment. Raises HypervisorError if nobody can
        tell."""

    async def activate(self, name: str, move: str) -> Figures:
        """The machine runs here, with what it brought. Raises Fenced if its state is not all here. One that this move
        has run here, and that has ended since, is not run anew, and is no error."""

    async def hold(self, name: str) -> None:
        """The machine does not run: paused if it did."""

    async def abort(self, name: str, move: str) -> None:
        """As if there had been no move: the source runs on; what that move brought to a destination is gone, be it
        waiting, paused or running. Never touches what another move, or nobody, brought here."""

    async def discard(self, name: str) -> None:
        """Nothing is left of the machine. Fenced if it runs, or waits for its state: that is for `abort`."""

    async def stop(self, name: str) -> None:
        """The machine is shut down, and nothing is left of it but its disk. It is ended if it does not answer."""

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        """The vNIC's cable is in, or out."""

    async def announce(self, name: str) -> None:
        """The LAN hears where the machine is: gratuitous ARP and unsolicited NA, sent by the machine's own vNIC."""

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        """Runs a program in the guest and returns what it printed. Raises HypervisorError if it failed, or there is
        nobody in the guest who does that."""


@runtime_checkable
class Comparable(Protocol):
    """A driver that says what machines find here, in `platform` of the targets that it gives, too; it refuses to copy
    to a target whose platform is not its machine's (`Refused`, before the first byte). Drivers need not."""

    async def platform(self) -> Platform:
        """What machines find here now, with all images. Raises HypervisorError."""


@runtime_checkable
class Answering(Protocol):
    """A driver that has a way to an agent in the guest, beside its network. Drivers need not."""

    async def answers(self, name: str) -> bool:
        """Whether an agent in the guest of a machine that runs here answers now. Raises HypervisorError if nobody can
        tell, and may take long; a machine that is being moved is not asked about."""


@runtime_checkable
class Networked(Protocol):
    """A driver whose sources connect to places that targets name. A target is the word of another cloudlet's agent, who
    is foreign. Drivers whose targets are no network addresses need not."""

    def check(self, machine: Machine, target: Target, peer: str) -> None:
        """Raise Refused, naming what is wrong, unless the target leads to the cloudlet whose tunnel address is `peer`
        alone. Nothing is connected to, and nothing is remembered."""
