"""Which leases another address plan hits: the address plan binds new leases, and those that are there are not taken
away, so whoever changes it should know who holds what is not to be given out any more."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from controller.core.policy.model import Addresses, LanPlan

_NOTHING = LanPlan()


@dataclass(frozen=True, order=True)
class Held:
    """A lease: `kind` is md or vm."""

    endpoint: str
    device: str
    kind: str
    address: str


@dataclass(frozen=True, order=True)
class Hit:
    """A lease that another plan would not give, and why."""

    lease: Held
    why: str


def touched(before: Addresses, after: Addresses) -> list[str]:
    """The endpoints whose exclusions or reservations differ."""
    return sorted(
        name
        for name in before.lans.keys() | after.lans.keys()
        if (was := before.lans.get(name, _NOTHING)) != (now := after.lans.get(name, _NOTHING))
        and (was.exclusions, was.reservations) != (now.exclusions, now.reservations)
    )


def hits(before: Addresses, after: Addresses, leases: Iterable[Held]) -> list[Hit]:
    """Leases that hold what `after` does not give to their device any more, or never did and `before` did not say."""
    return sorted(
        Hit(lease, why) for lease in leases for why in set(_against(after, lease)) - set(_against(before, lease))
    )


def _against(addresses: Addresses, lease: Held) -> Iterator[str]:
    lan = addresses.lans.get(lease.endpoint, _NOTHING)
    number = int(ip_address(lease.address))
    md = number if lease.kind == "md" else number - 1
    for first, last in lan.exclusions:
        if int(ip_address(first)) <= number <= int(ip_address(last)):
            yield f"{first} to {last} is not given out"
    for device, address in lan.reservations.items():
        reserved = int(ip_address(address))
        if device != lease.device and reserved == md:
            yield f"{address} is reserved for {device}"
        if device == lease.device and reserved != md:
            yield f"{device} is to have {address}, and keeps what it has until its lease ends"
