"""VMs that should run and do not, or whose state is unknown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind


@dataclass(frozen=True)
class Vm:
    """A VM as its cloudlet's agent reported it last. `ended` is why it ended without being stopped."""

    name: str
    endpoint: str
    condition: str
    ended: str | None = None


def compare_vms(vms: Iterable[Vm]) -> Iterator[Difference]:
    """Yield each VM that ended by itself, and each that does not answer."""
    for vm in sorted(vms, key=lambda vm: vm.name):
        where = f"VMs at {vm.endpoint}"
        if vm.ended is not None:
            text = f"The VM {vm.name} ended by itself at {vm.endpoint}: {vm.ended}."
            yield Difference(DifferenceKind.VM_ENDED, where, vm.name, "running", vm.condition, text)
        elif vm.condition == "unresponsive":
            text = f"Whether the VM {vm.name} at {vm.endpoint} runs is not known: its hypervisor does not answer."
            yield Difference(DifferenceKind.VM_UNKNOWN, where, vm.name, "running", vm.condition, text)
