"""The conversion of the intent to one cloudlet's desired state, and the check that a report agrees with it."""

from collections.abc import Mapping
from dataclasses import dataclass

from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.rulesets import site_target
from controller.wire import desired as wire
from controller.wire.flavours import Flavour
from controller.wire.reports import Report

TunnelKey = int | str
"""The key that distinguishes an endpoint's tunnels: the remote's VE ID (VPLS) or VTEP (EVPN)."""

Tunnels = Mapping[str, frozenset[TunnelKey]]
"""Endpoint name → the tunnels it should have."""


@dataclass(frozen=True)
class Fabric:
    """The facts that all cloudlets of the region share: the AS number, the route servers to peer with, and whether
    these accept only cloudlets that have enrolled."""

    asn: int
    speakers: tuple[wire.Speaker, ...]
    enrolled_only: bool = False


def desired(intent: Intent, cloudlet: Cloudlet, fabric: Fabric) -> wire.Desired:
    """Return the whole desired state. A cloudlet that may not speak yet gets an empty one: no speakers, no endpoints.
    An endpoint that is held back is left out.

    Version and generation are both the generation at which this cloudlet's document last changed."""
    endpoints = _in_force(intent, cloudlet.name) if cloudlet.speaks else ()
    return wire.Desired(
        version=cloudlet.version,
        generation=cloudlet.version,
        cloudlet=cloudlet.name,
        asn=fabric.asn,
        router_id=cloudlet.vtep,
        vtep=cloudlet.vtep,
        speakers=list(fabric.speakers) if intent.has_pe(cloudlet) else [],
        endpoints=[_endpoint(e, intent, cloudlet, fabric.asn) for e in endpoints],
        protected=[wire.Protected(name=c.name, address=c.vtep) for c in intent.protected(cloudlet)],
    )


def _in_force(intent: Intent, cloudlet: str) -> tuple[Endpoint, ...]:
    return tuple(e for e in intent.endpoints_of.get(cloudlet, ()) if not intent.held(e.name))


def _endpoint(of: Endpoint, intent: Intent, cloudlet: Cloudlet, asn: int) -> wire.Endpoint:
    target = site_target(asn, of.site)
    return wire.Endpoint(
        name=of.name,
        index=of.index,
        flavour=cloudlet.pe,
        prefix=of.prefix,
        gateway=of.gateway,
        ports=list(of.ports),
        rt=target,
        rd=target,
        ve_id=of.site if cloudlet.pe is Flavour.VPLS else None,
        vni=of.vni,
        vtep=cloudlet.vtep,
        mtu=of.mtu,
        lease_seconds=of.lease_seconds,
        remotes=[_remote(intent.endpoints[name], intent) for name in sorted(intent.remotes(of.name))],
        prefix6=of.prefix6,
        gateway6=of.gateway6,
    )


def _remote(of: Endpoint, intent: Intent) -> wire.Remote:
    cloudlet = intent.cloudlets[of.cloudlet]
    return wire.Remote(
        endpoint=of.name,
        cloudlet=of.cloudlet,
        prefix=of.prefix,
        vtep=cloudlet.vtep,
        ve_id=of.site if cloudlet.pe is Flavour.VPLS else None,
        prefix6=of.prefix6,
    )


def tunnels(intent: Intent, cloudlet: str) -> Tunnels:
    """Return the tunnels that a cloudlet should have, named as in a report."""
    return {e.name: _keys(intent, e.name) for e in _in_force(intent, cloudlet)}


def _keys(intent: Intent, endpoint: str) -> frozenset[TunnelKey]:
    remotes = (intent.endpoints[name] for name in intent.remotes(endpoint))
    if intent.flavour(endpoint) is Flavour.VPLS:
        return frozenset(r.site for r in remotes)
    return frozenset(intent.cloudlets[r.cloudlet].vtep for r in remotes)


def agrees(report: Report, expected: Tunnels) -> bool:
    """Return whether the kernel that a report describes has exactly the expected tunnels, endpoint by endpoint."""
    seen = {
        state.endpoint: frozenset[TunnelKey](t.vtep if t.ve_id is None else t.ve_id for t in state.tunnels)
        for state in report.endpoints
    }
    return seen == expected
