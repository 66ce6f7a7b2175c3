"""The places to which the source of a move may connect: only the cloudlet that the order names. Pure.

A destination's agent is not trusted, and it writes the target. Nothing of a machine goes to an address of its choice,
and no host behind the source gets a connection that the destination could not make itself (confused deputy)."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.ports import LOWEST
from agents.hypervisors.target import HostPort, disk, memory
from controller.wire.machines import Machine
from controller.wire.moves import Target

PATHS = 8
"""Most places for memory in one target."""

_SHOWN = 60  # characters of a foreign host


def check(machine: Machine, target: Target, peer: str) -> None:
    """Raise Refused, with the reason, unless the target leads to the cloudlet whose tunnel address is `peer`.

    QEMU connects only to memory's first place and to the disk's: both are at `peer`. Each further place is another
    address of the same listener, by which subflows may come (`paths.offer`)."""
    try:
        places = memory(target)
        copy = disk(target) if target.disk is not None else None
    except HypervisorError as error:
        raise Refused(f"{_whose(machine)} is refused: {error}") from None
    if wrong := _wrong(machine, places, copy, ip_address(peer)):
        raise Refused(f"{_whose(machine)} is refused: {wrong}")


def _whose(machine: Machine) -> str:
    return f"the target that the other cloudlet's agent gives for {machine.name}"


def _wrong(
    machine: Machine, places: list[HostPort], copy: HostPort | None, peer: IPv4Address | IPv6Address
) -> str | None:
    if not 0 < len(places) <= PATHS:
        return f"it has {len(places)} places for memory, and 1 to {PATHS} are taken"
    if (copy is None) != (machine.disk is None):
        return f"the machine has {'no' if machine.disk is None else 'a'} disk, and the target says otherwise"
    first, *others = places
    for what, place in (("memory", first), ("the disk", copy)):
        if place is None:
            continue
        if ip_address(place.host) != peer:
            return f"{what} would go to {place.host[:_SHOWN]}, and the order is for {peer}"
        if place.port < LOWEST:
            return f"{what} would go to port {place.port}, and no driver waits below {LOWEST}"
    if copy == first:
        return f"memory and the disk would both go to {first}"
    for place in others:
        address = ip_address(place.host)
        if place.port != first.port:
            return f"the further path {place} has not the port of the first one, {first.port}"
        if (address.is_loopback and not peer.is_loopback) or not _one_host(address):
            return f"the further path {place} is not an address of another host"
    if len({ip_address(place.host) for place in places}) < len(places):
        return "it has the same place twice"
    return None


def _one_host(address: IPv4Address | IPv6Address) -> bool:
    broadcast = address == IPv4Address("255.255.255.255")
    return not (address.is_unspecified or address.is_multicast or address.is_link_local or broadcast)
