"""Machines: VMs as every cloudlet can make them (design, "From a sighting to a move").

What a machine boots from (`image`, and the disk's `base`) is a name that every cloudlet's driver has the same files
for: a move takes what has changed since, never the shared base.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field

from controller.wire.fields import Count, Mac, Name, Real
from controller.wire.model import Message
from controller.wire.sizes import Size

Nic = Literal["a", "b"]
"""A VM has two: one serves, the other is down and waits for the next move; their roles swap with every move."""

NICS: tuple[Nic, ...] = get_args(Nic)

MEMORY = Size(1 << 24, 1 << 45)
CPU_PATTERN = r"^[A-Za-z0-9_.-]{1,63}(,-[A-Za-z0-9_.-]{1,63}){0,32}$"
"""A CPU model, and features that are taken from it."""
MOST_CPU = 400

MOST_VCPUS = 255
"""As many as QEMU's q35 has without an IOMMU that remaps interrupts."""


class Disk(Message):
    """A disk of `bytes` that differs from the shared image `base` by what the VM has written."""

    base: Name
    bytes: Annotated[int, Size(1 << 20, 1 << 50, step=512)]


class Machine(Message):
    """A VM. `memory` in bytes; `macs` are those of its vNICs a and b. `options` are the driver's own. `cpu` is the CPU
    model that the guest sees, less the features named after it (`EPYC-Rome,-rdpid`), None the driver's own CPU; only
    an agent that reports models (`Platform.models`) understands it."""

    name: Name
    driver: Name
    image: Name
    memory: Annotated[int, MEMORY]
    vcpus: Annotated[int, Field(ge=1, le=1024)] = 1  # older releases took more than MOST_VCPUS
    macs: tuple[Mac, Mac]
    disk: Disk | None = None
    options: dict[str, str] = Field(max_length=32, default_factory=dict)
    cpu: Annotated[str, Field(pattern=CPU_PATTERN, max_length=MOST_CPU)] | None = Field(
        default=None, exclude_if=lambda cpu: cpu is None
    )


def client_id(name: str) -> str:
    """DHCP option 61 of a machine, in hex: the same on both vNICs, so that either gets the VM's address of the plan.
    Type 0, not a hardware address (RFC 2132, section 9.14), then the machine's name."""
    return "00" + name.encode().hex()


Condition = Literal["running", "paused", "waiting", "moved", "stopped", "gone", "unresponsive"]
"""`waiting`: for another cloudlet's state; `moved`: stopped for good because its state is elsewhere; `stopped`: it was
ended, or ended by itself; `gone`: the driver knows nothing of it; `unresponsive`: its hypervisor does not answer, so it
may run or not, and nobody starts it elsewhere. Of all others only `running` runs."""


class MachineState(Message):
    """What a cloudlet's driver says of a machine. `memory_used` in bytes and `dirty_rate` in bytes a second, where the
    driver can tell them."""

    name: Name
    condition: Condition
    serving: Nic | None = None
    memory_used: Count | None = None
    dirty_rate: Real | None = None
    detail: Annotated[str, Field(max_length=400)] = ""
