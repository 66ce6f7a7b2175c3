"""Machines: VMs as every cloudlet can create them (design, "From a sighting to a move").

A machine boots from an `image`, and its disk has a `base`. Both are names for which every cloudlet's driver has the
same files. A move transfers the changes since then, never the shared base.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field

from controller.wire.fields import Count, Mac, Name, Real
from controller.wire.model import Message
from controller.wire.sizes import Size

Nic = Literal["a", "b"]
"""A VM's vNIC. One of the two serves; the other is down and waits for the next move. Every move swaps their roles."""

NICS: tuple[Nic, ...] = get_args(Nic)

MEMORY = Size(1 << 24, 1 << 45)
CPU_PATTERN = r"^[A-Za-z0-9_.-]{1,63}(,-[A-Za-z0-9_.-]{1,63}){0,32}$"
"""A CPU model, followed by features that are removed from it."""
MOST_CPU = 400

MOST_VCPUS = 255
"""The maximum of QEMU's q35 without an IOMMU that remaps interrupts."""


class Disk(Message):
    """A disk of `bytes`. It differs from the shared image `base` by the data that the VM has written."""

    base: Name
    bytes: Annotated[int, Size(1 << 20, 1 << 50, step=512)]


class Machine(Message):
    """A VM. `memory` in bytes; `macs` are those of its vNICs a and b. `options` are the driver's own. `cpu` is the CPU
    model that the guest sees, without the features named after it (`EPYC-Rome,-rdpid`); None means the driver's own
    CPU. Only an agent that reports models (`Platform.models`) understands `cpu`."""

    name: Name
    driver: Name
    image: Name
    memory: Annotated[int, MEMORY]
    vcpus: Annotated[int, Field(ge=1, le=1024)] = 1  # older releases allowed more than MOST_VCPUS
    macs: tuple[Mac, Mac]
    disk: Disk | None = None
    options: dict[str, str] = Field(max_length=32, default_factory=dict)
    cpu: Annotated[str, Field(pattern=CPU_PATTERN, max_length=MOST_CPU)] | None = Field(
        default=None, exclude_if=lambda cpu: cpu is None
    )


def client_id(name: str) -> str:
    """Return DHCP option 61 of a machine, in hex: the same on both vNICs, so that either gets the VM's address of the
    plan. Type 0, not a hardware address (RFC 2132, section 9.14), then the machine's name."""
    return "00" + name.encode().hex()


Condition = Literal["running", "paused", "waiting", "moved", "stopped", "gone", "unresponsive"]
"""The condition of a machine. `waiting`: for another cloudlet's state; `moved`: stopped for good because its state is
elsewhere; `stopped`: it was ended, or ended by itself; `gone`: the driver does not know it; `unresponsive`: its
hypervisor does not answer, so it may run, and nobody starts it elsewhere. Apart from `unresponsive`, only `running`
means that the VM runs."""


class MachineState(Message):
    """A cloudlet's driver's report of a machine. `memory_used` is in bytes and `dirty_rate` in bytes a second, if the
    driver can measure them."""

    name: Name
    condition: Condition
    serving: Nic | None = None
    memory_used: Count | None = None
    dirty_rate: Real | None = None
    detail: Annotated[str, Field(max_length=400)] = ""
