"""The leases that another address plan affects. The plan applies to new leases, and present ones stay. So a user who
changes the plan must know who holds addresses that are not to be assigned any more."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from controller.core.policy.model import Addresses, LanPlan

_NOTHING = LanPlan()


@dataclass(frozen=True, order=True)
class HeldLease:
    """A lease: `kind` is md or vm."""

    endpoint: str
    device: str
    kind: str
    address: str


@dataclass(frozen=True, order=True)
class Hit:
    """A lease that another plan would not give, and why."""

    lease: HeldLease
    why: str


def touched(before: Addresses, after: Addresses) -> list[str]:
    """Return the endpoints whose exclusions or reservations differ."""
    return sorted(
        name
        for name in before.lans.keys() | after.lans.keys()
        if (was := before.lans.get(name, _NOTHING)) != (now := after.lans.get(name, _NOTHING))
        and (was.exclusions, was.reservations) != (now.exclusions, now.reservations)
    )


def hits(before: Addresses, after: Addresses, leases: Iterable[HeldLease]) -> list[Hit]:
    """Return the leases on addresses that `after` does not give to their device, except those that `before` already did
    not. The cost is proportional to the leases, to the new entries of their LANs, and to the result."""
    at_lan: dict[str, list[HeldLease]] = {}
    for lease in leases:
        at_lan.setdefault(lease.endpoint, []).append(lease)
    return sorted(
        hit
        for name, held in at_lan.items()
        for hit in _at_lan(before.lans.get(name, _NOTHING), after.lans.get(name, _NOTHING), held)
    )


def _at_lan(was: LanPlan, will: LanPlan, held: Iterable[HeldLease]) -> Iterator[Hit]:
    """Yield the hits of `will`'s entries that `was` does not have; each address is parsed once."""
    numbered = sorted((int(ip_address(lease.address)), lease) for lease in held)
    for first, last in set(will.exclusions) - set(was.exclusions):
        start = bisect_left(numbered, int(ip_address(first)), key=_number)
        end = bisect_right(numbered, int(ip_address(last)), key=_number)
        for _, lease in numbered[start:end]:
            yield Hit(lease, f"{first} to {last} is not given out")
    reservations = will.reservations.items() - was.reservations.items()
    reserved = {device: (int(ip_address(text)), text) for device, text in reservations}
    holders: dict[int, list[str]] = {}
    for device, (number, _) in reserved.items():
        holders.setdefault(number, []).append(device)
    for number, lease in numbered:
        md = number if lease.kind == "md" else number - 1
        for device in holders.get(md, ()):
            if device != lease.device:
                yield Hit(lease, f"{reserved[device][1]} is reserved for {device}")
        if lease.device in reserved and reserved[lease.device][0] != md:
            said = f"{lease.device} is to have {reserved[lease.device][1]}"
            yield Hit(lease, f"{said}, and keeps what it has until no lease on its pair is left")


def _number(numbered: tuple[int, HeldLease]) -> int:
    return numbered[0]
