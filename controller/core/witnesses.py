"""What a sighting is worth: who it was, and whether address, MAC and lease agree. Pure.

An agent speaks of its own LANs only. A lease counts if it is in the database, for the device's own half of the pair
and its own MAC. A packet counts for nothing by itself: it makes us look at the lease on its source address, and says
no more than that lease does. So whoever sends packets, with whatever addresses, moves nobody.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from ipaddress import ip_address

from controller.core.addresses import AddressPlan, Kind, PlanError
from controller.core.intent import Endpoint, Intent
from controller.wire.desired import gateway_mac
from controller.wire.sightings import Sighting


class Worth(StrEnum):
    """`seen`: the device holds that lease. `unknown`: nobody holds the address, as far as we know yet. `vm`: it is not
    a device's. `spoofed`: somebody else's MAC has the address."""

    SEEN = "seen"
    UNKNOWN = "unknown"
    VM = "vm"
    SPOOFED = "spoofed"


@dataclass(frozen=True)
class Lease:
    """A lease that has not expired. `macs` are those by which its holder is known; `since` is no later than when it
    was given."""

    device: str
    kind: Kind
    endpoint: str
    macs: frozenset[str]
    since: datetime


def home(intent: Intent, sighting: Sighting) -> tuple[str, str] | None:
    """The LAN whose address it is, among those that can be meant, and the lease's address: the IPv4 one of the same
    half of the same pair. None if it is nobody's."""
    address = ip_address(sighting.address)
    for endpoint in _meant(intent, sighting):
        plan = endpoint.plan
        if address.version == 6:
            if endpoint.prefix6 is None:
                continue
            plan = AddressPlan.of(endpoint.prefix6, endpoint.prefix)
        with suppress(PlanError):
            return endpoint.name, str(endpoint.plan.address(plan.index_of(address), plan.kind_of(address)))
    return None


def judge(intent: Intent, sighting: Sighting, lease: Lease | None) -> Worth:
    """What it is worth, given the lease on its address."""
    if lease is None:
        return Worth.UNKNOWN
    if lease.kind != "md":
        return Worth.VM
    known = sighting.mac is None or not lease.macs or sighting.mac in lease.macs
    if known or (sighting.how == "packet" and sighting.mac in gateway_macs(intent, sighting.endpoint)):
        return Worth.SEEN
    return Worth.SPOOFED


def follows(intent: Intent, endpoint: str, vm: str | None) -> bool:
    """Whether a device with its VM at the LAN `vm` may be taken to be at `endpoint`: where its VM is, or in a LAN that
    shares a pool with that. One without a VM may be anywhere."""
    return endpoint in intent.endpoints and (vm is None or vm == endpoint or intent.share(vm, endpoint))


def gateway_macs(intent: Intent, endpoint: str) -> frozenset[str]:
    """Of the gateways that forward packets to a LAN: what they forward has their own MAC."""
    names = {endpoint, *intent.remotes(endpoint)}
    return frozenset(gateway_mac(e.cloudlet, e.index) for e in map(intent.endpoints.__getitem__, names))


def _meant(intent: Intent, sighting: Sighting) -> Iterator[Endpoint]:
    yield intent.endpoints[sighting.endpoint]
    if sighting.how == "packet":
        for name in sorted(intent.remotes(sighting.endpoint)):
            yield intent.endpoints[name]
