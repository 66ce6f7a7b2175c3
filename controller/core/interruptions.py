"""Interruptions: the traffic that a change of cloudlets and endpoints interrupts, as the intents before and after it
show. Pure.

Only cloudlets and endpoints that take part are looked at, and that the change itself touches: where others of a pool
lose a member, its own line says so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.persistent_map import changed

FEW = 4
"""Names that a sentence lists; of more it gives the number."""

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Inhabitants:
    """The number of pairs with a lease, and the VMs that run, by endpoint (only endpoints with any)."""

    leases: Mapping[str, int] = field(default_factory=dict)
    vms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, order=True)
class Interruption:
    """An interruption at the cloudlet or endpoint of that name, as a sentence."""

    kind: Literal["cloudlet", "endpoint"]
    name: str
    what: str


def interruptions(old: Intent, new: Intent, there: Inhabitants | None = None) -> tuple[Interruption, ...]:
    """Return the interruptions, sorted by kind and name. `there` are the inhabitants of the endpoints before the
    change. The cost is proportional to the cloudlets and endpoints that differ."""
    there = there or Inhabitants()
    cloudlets, endpoints = changed(old.cloudlets, new.cloudlets), set(changed(old.endpoints, new.endpoints))
    found = [
        Interruption("cloudlet", name, what)
        for name in sorted(cloudlets)
        if name in old.cloudlets and name in new.cloudlets and old.cloudlets[name].speaks
        for what in _of_cloudlet(old, old.cloudlets[name], new.cloudlets[name])
    ]
    endpoints |= {endpoint.name for name in cloudlets for endpoint in old.endpoints_of.get(name, ())}
    found += [
        Interruption("endpoint", name, what)
        for name in sorted(endpoints)
        if name in old.endpoints and old.cloudlets[old.endpoints[name].cloudlet].speaks and not old.held(name)
        for what in _of_endpoint(old, new, name, there)
    ]
    return tuple(found)


def inhabited(old: Intent, new: Intent) -> frozenset[str]:
    """Return the endpoints whose inhabitants `interruptions` needs."""
    return frozenset(
        name
        for name in changed(old.endpoints, new.endpoints)
        if (was := old.endpoints.get(name)) is not None
        and ((now := new.endpoints.get(name)) is None or now.mtu < was.mtu)
    )


def _of_cloudlet(old: Intent, was: Cloudlet, now: Cloudlet) -> Iterator[str]:
    unmanaged = was.unmanaged
    if now.vtep != was.vtep and unmanaged:
        yield f"the BGP sessions of its PE end until its operator gives it the address {now.vtep}"
    elif now.vtep != was.vtep:
        remotes = (name for endpoint in old.endpoints_of.get(was.name, ()) for name in old.remotes(endpoint.name))
        others = {old.endpoints[name].cloudlet for name in remotes}
        tunnels = f"its tunnels, to {listed(others)}," if others else "its tunnels"
        yield (
            f"its BGP sessions and {tunnels} end until its agent has the new state and its host the address {now.vtep}"
        )
    if now.asn != was.asn:
        number = "the region's AS number" if now.asn is None else f"AS number {now.asn}"
        yield f"the BGP sessions of its PE end until its operator gives it {number}"
    if now.ttl_security != was.ttl_security:
        bound = f": route servers drop what has crossed more than {now.ttl_security} hops" if now.ttl_security else ""
        yield f"the BGP sessions of its PE begin anew{bound}"


def _of_endpoint(old: Intent, new: Intent, name: str, there: Inhabitants) -> Iterator[str]:
    was, now = old.endpoints[name], new.endpoints.get(name)
    if left := sorted(old.pools_of.get(name, NONE) - new.pools_of.get(name, NONE)):
        yield f"it leaves {listed(left)}, whose other members its hosts no longer reach"
    if now is None:
        leases = f", with {_counted(there.leases[name], 'lease')}" if there.leases.get(name) else ""
        yield f"its LAN ends{leases}"
        return
    if new.held(name):
        yield f"its LAN has neither gateway nor DHCP until tenant {now.tenant} consents"
    managed = not old.cloudlets[was.cloudlet].unmanaged
    if managed and (gone := [port for port in was.ports if port not in now.ports]):
        yield f"interfaces that only {listed(gone)} named leave the LAN, with the devices behind them"
    if now.vni != was.vni:
        yield f"its tunnels end, and come again with the VNI {now.vni}"
    yield from _of_prefixes(was, now)
    if now.mtu < was.mtu and managed:
        yield from _of_mtu(was, now, there)
    if now.max_routes is not None and (was.max_routes is None or now.max_routes < was.max_routes):
        yield f"if its PE announces more than {_counted(now.max_routes, 'route')}, all of them are in quarantine"
    if not managed and _configured(was) != _configured(now):
        yield f"its PE has no agent: configure it anew (weft cloudlet config {was.cloudlet})"


def _of_prefixes(was: Endpoint, now: Endpoint) -> Iterator[str]:
    for before, after in ((was.prefix, now.prefix), (was.prefix6, now.prefix6)):
        if before is not None and before != after:
            instead = f" until they ask DHCP for one of {after}" if after is not None else ""
            yield f"hosts with an address of {before} reach nothing beyond their LAN{instead}"


def _of_mtu(was: Endpoint, now: Endpoint, there: Inhabitants) -> Iterator[str]:
    lost = f"packets of more than {now.mtu} bytes to other cloudlets are lost"
    if leases := there.leases.get(now.name):
        learn = f"the hosts of {_counted(leases, 'lease')} learn the new MTU at their next renewal"
        yield f"{lost} until {learn}, in half of {was.lease_seconds} s at most"
    if vms := there.vms.get(now.name):
        yield f"{lost} from {listed(vms)}, until started anew: a VM keeps the MTU with which it was started"


def _configured(endpoint: Endpoint) -> tuple[object, ...]:
    """Return the values that an operator configures at a PE without an agent."""
    return endpoint.prefix, endpoint.prefix6, endpoint.vni, endpoint.mtu


def listed(names: Iterable[str]) -> str:
    """Return names in a sentence."""
    found = sorted(names)
    if len(found) > FEW:
        return f"{', '.join(found[:FEW])} and {len(found) - FEW} more"
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
