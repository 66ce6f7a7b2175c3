"""`vms`: registered VMs."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from controller.core import machines
from controller.core.inventory.inventory import Inventory
from controller.core.inventory.kinds import VMS, Fields
from controller.core.inventory.sections.devices import stored, wrong_macs
from controller.core.inventory.sections.once import repeated
from controller.core.yaml_document.errors import DocumentError
from controller.wire.initiations import Initiation
from controller.wire.machines import NICS, Machine
from controller.wire.sizes import UNITS

_OF_MACHINES = ("driver", "image", "memory", "vcpus", "macs", "disk", "options")


def read(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a VM has; `data` is valid by the schema."""
    found = dict(data) | {"memory": _bytes(data["memory"])}
    if "disk" in data:
        found["disk"] = {"base": data["disk"]["base"], "bytes": _bytes(data["disk"]["bytes"])}
    found["macs"] = tuple(map(stored, data["macs"])) if "macs" in data else made_macs(name)
    return found


def _bytes(size: int | float | str) -> int:
    return int(size) if not isinstance(size, str) else int(size[:-1]) << UNITS[size[-1]]


def made_macs(name: str) -> tuple[str, ...]:
    """Return the MACs of a VM that an operator gave none."""
    return tuple(machines.mac(name, nic) for nic in NICS)


def wanted(name: str, fields: Fields) -> Machine:
    """Return the machine of a VM as it is to be. Raises ValidationError."""
    return Machine.model_validate({"name": name} | {field: fields[field] for field in _OF_MACHINES})


def anew(fields: Fields) -> Initiation:
    """Return how a VM starts anew at another cloudlet. Raises ValidationError."""
    return Initiation(check=fields["check"], handover=fields["handover"])


def errors(inventory: Inventory) -> Iterator[DocumentError]:
    """Yield errors about sizes, MACs and ports that no machine has, and MACs and devices of two VMs."""
    for name, fields in inventory.of(VMS):
        here, macs = (VMS, name), fields["macs"]
        wrong = list(wrong_macs(inventory, [((*here, "macs", i), mac) for i, mac in enumerate(macs)]))
        yield from wrong
        if not wrong:
            yield from _unfit(inventory, name, fields)
        if macs[0] == macs[1]:
            yield inventory.error((*here, "macs"), f"both vNICs have {macs[0]}")
    one = repeated(inventory, VMS, "is the device", lambda _, fields: [(("device",), fields["device"])])
    other = repeated(inventory, VMS, "is the MAC", lambda _, fields: [(("macs",), mac) for mac in fields["macs"]])
    yield from (*one, *other)


def _unfit(inventory: Inventory, name: str, fields: Fields) -> Iterator[DocumentError]:
    for make, at in ((lambda: wanted(name, fields), ()), (lambda: anew(fields), ("check",))):
        try:
            make()
        except ValidationError as invalid:
            for error in invalid.errors():
                message = str(error["msg"]).removeprefix("Value error, ")
                yield inventory.error((VMS, name, *(at or error["loc"])), message)
