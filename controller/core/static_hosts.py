"""Static addresses: hosts that were on a LAN before Weft, and keep the addresses that they were set up with. Pure.

A static host takes its whole pair out of the address plan: the other half would be the address of its device or VM, and
it has none. Two static hosts may be the halves of one pair."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from controller.core.addresses import AddressPlan, PlanError
from controller.core.names import is_name

Complaint = tuple[int, str, str]
"""The number of the host (from 0), the field at fault, and why."""


@dataclass(frozen=True)
class Static:
    """A host. `mac` is in the form `02:00:5e:00:00:01`, None if unknown."""

    name: str
    address: str
    mac: str | None = None


def check(hosts: Iterable[Static], plan: AddressPlan, there: Mapping[str, Static]) -> list[Complaint]:
    """Return the errors of hosts to be added to those that are `there` (by address). An exact repetition is no
    error."""
    complaints: list[Complaint] = []
    by_address, by_name = dict(there), {host.name: host for host in there.values()}
    for number, host in enumerate(hosts):
        if not is_name(host.name):
            complaints.append((number, "name", f"{host.name!r} is not a name: lower-case letters, digits and hyphens"))
        try:
            address = ip_address(host.address)
            plan.index_of(address)
        except PlanError as error:
            complaints.append((number, "address", str(error)))
            continue
        except ValueError:
            complaints.append((number, "address", f"{host.address!r} is not an address"))
            continue
        known, namesake = by_address.get(str(address)), by_name.get(host.name)
        if known is not None and known.name != host.name:
            complaints.append((number, "address", f"{address} is {known.name}'s"))
        elif namesake is not None and namesake.address != str(address):
            complaints.append((number, "name", f"{host.name} is at {namesake.address} already"))
        else:
            by_address[str(address)] = by_name[host.name] = Static(host.name, str(address), host.mac)
    return complaints
