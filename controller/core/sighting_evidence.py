"""The worth of a sighting: which device it was, and whether address, MAC and lease agree. Pure.

An agent reports only on its own LANs. A lease counts if it is in the database, for the device's own half of the pair
and its own MAC. A packet proves nothing by itself: it causes a look at the lease on its source address, and is worth no
more than that lease. So a sender of packets, with any addresses, cannot move a device."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address
from operator import itemgetter

from controller.core.addresses import AddressPlan, Kind, PlanError
from controller.core.intent import Endpoint, Intent
from controller.wire.desired import gateway_mac
from controller.wire.sightings import How, Sighting

_Meant = tuple[int, Endpoint]
"""A LAN that can be meant, and its place in the order of preference."""


class Worth(StrEnum):
    """`seen`: the device holds that lease. `unknown`: nobody holds the address, as far as is known yet. `vm`: the
    address is not a device's. `spoofed`: another MAC than the lease's uses the address."""

    SEEN = "seen"
    UNKNOWN = "unknown"
    VM = "vm"
    SPOOFED = "spoofed"


@dataclass(frozen=True)
class Lease:
    """A lease that has not expired. `macs` are those of its holder, as far as known; `since` is no later than when it
    was given."""

    device: str
    kind: Kind
    endpoint: str
    macs: frozenset[str]
    since: datetime


class Witnesses:
    """The worth of agents' sightings under one intent. The surroundings of a LAN are gathered once: an agent reports
    hundreds of sightings at a time, and a pool may have a thousand LANs."""

    def __init__(self, intent: Intent) -> None:
        self._intent = intent
        self._around: dict[tuple[str, How], list[_Networks]] = {}
        self._gateways: dict[str, frozenset[str]] = {}

    def home(self, sighting: Sighting) -> tuple[str, str] | None:
        """Return the LAN that has the address, among those that can be meant, and the lease's address: the IPv4 one of
        the same half of the same pair. None if no LAN has it."""
        address = ip_address(sighting.address)
        for _, endpoint in sorted(self._having(sighting, address), key=itemgetter(0)):
            plan = endpoint.plan
            if endpoint.prefix6 is not None and address.version == 6:
                plan = AddressPlan.of(endpoint.prefix6, endpoint.prefix)
            with suppress(PlanError):
                return endpoint.name, str(endpoint.plan.address(plan.index_of(address), plan.kind_of(address)))
        return None

    def judge(self, sighting: Sighting, lease: Lease | None) -> Worth:
        """Return the worth of a sighting, given the lease on its address."""
        if lease is None:
            return Worth.UNKNOWN
        if lease.kind != "md":
            return Worth.VM
        known = sighting.mac is None or not lease.macs or sighting.mac in lease.macs
        if known or (sighting.how == "packet" and sighting.mac in self._gateways_to(sighting.endpoint)):
            return Worth.SEEN
        return Worth.SPOOFED

    def _having(self, sighting: Sighting, address: IPv4Address | IPv6Address) -> Iterator[_Meant]:
        key = sighting.endpoint, sighting.how
        if key not in self._around:
            self._around[key] = _networks(_meant(self._intent, *key))
        for networks in self._around[key]:
            if networks.version == address.version:
                yield from networks.at.get(int(address) >> networks.shift, ())

    def _gateways_to(self, endpoint: str) -> frozenset[str]:
        if endpoint not in self._gateways:
            self._gateways[endpoint] = gateway_macs(self._intent, endpoint)
        return self._gateways[endpoint]


@dataclass(frozen=True)
class _Networks:
    """The LANs with prefixes of one length, by the prefix's bits."""

    version: int
    shift: int
    at: dict[int, list[_Meant]]


def _networks(meant: Iterable[Endpoint]) -> list[_Networks]:
    found: dict[tuple[int, int], _Networks] = {}
    for order, endpoint in enumerate(meant):
        plan = endpoint.plan
        for network in (plan.network, plan.other):
            if network is None:
                continue
            shift = network.max_prefixlen - network.prefixlen
            same = found.setdefault((network.version, shift), _Networks(network.version, shift, {}))
            same.at.setdefault(int(network.network_address) >> shift, []).append((order, endpoint))
    return list(found.values())


def _meant(intent: Intent, endpoint: str, how: How) -> Iterator[Endpoint]:
    yield intent.endpoints[endpoint]
    if how == "packet":
        for name in sorted(intent.remotes(endpoint)):
            yield intent.endpoints[name]


def follows(intent: Intent, endpoint: str, vm: str | None) -> bool:
    """Return whether a device with its VM at the LAN `vm` may be taken to be at `endpoint`: that LAN itself, or one
    that shares a pool with it. A device without a VM may be anywhere."""
    return endpoint in intent.endpoints and (vm is None or vm == endpoint or intent.share(vm, endpoint))


def gateway_macs(intent: Intent, endpoint: str) -> frozenset[str]:
    """Return the MACs of the gateways that forward packets to a LAN: forwarded packets carry these MACs."""
    names = {endpoint, *intent.remotes(endpoint)}
    return frozenset(gateway_mac(e.cloudlet, e.index) for e in map(intent.endpoints.__getitem__, names))
