"""`addresses`: lease times, reservations and exclusions by LAN, always of whole pairs (Teka, section III), and the
settings that hosts receive with their address."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from socket import inet_aton
from typing import Any

from controller.core.addresses import AddressPlan, PlanError
from controller.core.policy.model import Addresses, LanPlan
from controller.core.policy.policy import Policy
from controller.core.policy.sections import hosts
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError
from controller.wire.host_settings import NO_SETTINGS, HostSettings


def read(data: Mapping[str, Any]) -> Addresses:
    """Return the section; `data` is valid by the schema."""
    told = hosts.read(data.get("hosts", {}), NO_SETTINGS)
    lans = {name: _lan(lan, told) for name, lan in data.get("lans", {}).items()}
    return Addresses(_seconds(data), lans, data.get("bind_sources"), told)


def _seconds(data: Mapping[str, Any]) -> int | None:
    return int(data["lease_seconds"]) if "lease_seconds" in data else None


def _lan(data: Mapping[str, Any], told: HostSettings) -> LanPlan:
    ranges = (text.partition("-") for text in data.get("exclusions", ()))
    return LanPlan(
        _seconds(data),
        dict(data.get("reservations", {})),
        tuple((first.strip(), last.strip()) for first, _, last in ranges),
        data.get("bind_sources"),
        hosts.read(data["hosts"], told) if "hosts" in data else None,
    )


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about reservations and exclusions that are not pairs or overlap, and settings that no host could
    use."""
    section: Mapping[str, Any] = policy.at(("addresses",)) if policy.has(("addresses",)) else {}
    yield from hosts.errors(policy, ("addresses", "hosts"), section.get("hosts", {}), policy.rules.addresses.hosts)
    for name, lan in policy.rules.addresses.lans.items():
        here: Path = ("addresses", "lans", name)
        if lan.hosts is not None:
            yield from hosts.errors(policy, (*here, "hosts"), section["lans"][name]["hosts"], lan.hosts)
        ranges = []
        for i, (first, last) in enumerate(lan.exclusions):
            at, low, high = (*here, "exclusions", i), _number(first), _number(last)
            if low > high:
                yield policy.error(at, f"the range ends before it begins: {first} is above {last}", f"{last}-{first}")
                continue
            if low % 2 or not high % 2:
                whole = _range(low & ~1, high | 1)
                yield policy.error(
                    at, f"an exclusion is of whole pairs, from an even address to an odd one: {whole}", whole
                )
            ranges.append((low, high, i))
        furthest: list[tuple[int, int, int]] = []
        for low, high, i in sorted(ranges):
            if furthest and low <= furthest[-1][1]:
                message = f"{_range(low, high)} overlaps {_range(*furthest[-1][:2])}"
                yield policy.error((*here, "exclusions", max(i, furthest[-1][2])), message)
            # In the order of addresses it is enough to look at the one that reaches furthest so far.
            furthest.append(max([*furthest[-1:], (low, high, i)], key=lambda each: each[1]))
        yield from _reservations(policy, here, lan, sorted(low for low, _, _ in ranges), furthest)


def _reservations(
    policy: Policy, here: Path, lan: LanPlan, lows: list[int], furthest: list[tuple[int, int, int]]
) -> Iterator[DocumentError]:
    owners: dict[str, str] = {}
    for device, text in lan.reservations.items():
        at, address = (*here, "reservations", device), _number(text)
        if address % 2:
            below = str(IPv4Address(address - 1))
            yield policy.error(at, f"{text} is odd, a VM's address; a device is given the even one: {below}", below)
        elif text in owners:
            yield policy.error(at, f"{text} is reserved for {owners[text]} already")
        owners.setdefault(text, device)
        before = bisect_right(lows, address)
        if before and address <= furthest[before - 1][1]:
            excluded = _range(*furthest[before - 1][:2])
            yield policy.error(at, f"{text} is reserved for {device} and excluded ({excluded})")


def against(policy: Policy, prefixes: Mapping[str, tuple[str, str | None]]) -> Iterator[DocumentError]:
    """Yield the errors that show once the LANs are known: endpoint → IPv4 prefix and IPv6 prefix, if it has one.
    Endpoints that do not exist yet are skipped."""
    for name, lan in policy.rules.addresses.lans.items():
        here: Path = ("addresses", "lans", name)
        if name in prefixes and lan.hosts is not None:
            yield from hosts.against(policy, (*here, "hosts"), lan.hosts, prefixes[name][0], name)
        if name not in prefixes or not (lan.reservations or lan.exclusions):
            continue
        plan = AddressPlan.of(*prefixes[name])
        base, size = int(plan.network.network_address), plan.network.num_addresses
        pairs = range(base + 2, base + 2 + 2 * plan.capacity, 2)
        for device, text in lan.reservations.items():
            if _number(text) not in pairs:
                try:
                    plan.vm_of(IPv4Address(text))
                except PlanError as error:
                    yield policy.error((*here, "reservations", device), f"{error}, the LAN of {name}")
        for i, ends in enumerate(lan.exclusions):
            for text in ends:
                if not 0 <= _number(text) - base < size:
                    yield policy.error((*here, "exclusions", i), f"{text} is not in {plan.network}, the LAN of {name}")
                    break


def _number(address: str) -> int:
    """Return the address as a number, ten times as fast as IPv4Address; the schema has checked its form."""
    return int.from_bytes(inet_aton(address))


def _range(low: int, high: int) -> str:
    return f"{IPv4Address(low)}-{IPv4Address(high)}"
