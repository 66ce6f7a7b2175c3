"""The region as the operators want it: cloudlets, endpoints, pools. Immutable; every edit makes a new one.

The database holds the same in its tables; decisions are made on this form. An edit costs about the same in a region of
ten cloudlets and in one of 100,000: the mappings share all that did not change, and the lookup tables are updated with
each edit."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from controller.core import lookups
from controller.core.lookups import LOOKUPS
from controller.core.objects import AnnouncePermit, Cloudlet, CloudletState, Endpoint, Vcp
from controller.core.occupied import Lans, Vteps
from controller.core.persistent_map import PersistentMap, changed
from controller.core.policy.model import Rules
from controller.core.proximity.grid import Grid
from controller.core.sites import Sites
from controller.wire.flavours import Flavour

__all__ = ["AnnouncePermit", "Cloudlet", "CloudletState", "Endpoint", "Intent", "Vcp"]


@dataclass(frozen=True)
class Intent:
    """The region at one generation, and the policy in force. Mappings of any type are converted to persistent maps.
    `families` has the greatest number that a pool of a family ever had, `permits` the endpoints from which VMs may be
    announced. `route_servers` are the addresses of all route servers, by name. With `enrolled_only` they accept no
    cloudlet that has no agent. Both are settings of the controller and belong to no generation."""

    generation: int = 0
    cloudlets: Mapping[str, Cloudlet] = field(default_factory=PersistentMap)
    endpoints: Mapping[str, Endpoint] = field(default_factory=PersistentMap)
    vcps: Mapping[str, Vcp] = field(default_factory=PersistentMap)
    policy: Rules = field(default_factory=Rules)
    families: Mapping[str, int] = field(default_factory=PersistentMap)
    permits: Mapping[str, AnnouncePermit] = field(default_factory=PersistentMap)
    route_servers: Mapping[str, str] = field(default_factory=dict)
    enrolled_only: bool = False

    def __post_init__(self) -> None:
        for name in ("cloudlets", "endpoints", "vcps", "families", "permits"):
            object.__setattr__(self, name, PersistentMap.of(getattr(self, name)))

    @cached_property
    def pools_of(self) -> Mapping[str, frozenset[str]]:
        """Endpoint name → names of the VCPs it is a member of (only endpoints that are in any)."""
        return lookups.pools_of(PersistentMap(), lookups.new(self.vcps))

    @cached_property
    def endpoints_of(self) -> Mapping[str, tuple[Endpoint, ...]]:
        """Cloudlet name → its endpoints by index (only cloudlets that have any)."""
        return lookups.endpoints_of(PersistentMap(), lookups.new(self.endpoints))

    @cached_property
    def permits_of(self) -> Mapping[str, tuple[AnnouncePermit, ...]]:
        """Endpoint name → the VMs that may be announced from there, by name (only endpoints with any)."""
        return lookups.permits_of(PersistentMap(), lookups.new(self.permits))

    @cached_property
    def credentials(self) -> Mapping[str, str]:
        """Credential digest → cloudlet name."""
        return lookups.credentials(PersistentMap(), lookups.new(self.cloudlets))

    @cached_property
    def revoked(self) -> Mapping[str, str]:
        """Cloudlets whose credentials were revoked, by their names."""
        return lookups.revoked(PersistentMap(), lookups.new(self.cloudlets))

    @cached_property
    def places(self) -> Grid:
        """The positions of cloudlets (only of those with a known one)."""
        return lookups.places(Grid(), lookups.new(self.cloudlets))

    @cached_property
    def vteps(self) -> Vteps:
        """The owners of VTEPs."""
        return lookups.vteps(Vteps(), lookups.new(self.cloudlets))

    @cached_property
    def lans(self) -> Lans:
        """The LANs by address."""
        return lookups.lans(Lans(), lookups.new(self.endpoints))

    @cached_property
    def sites(self) -> Sites:
        """The site numbers that are taken."""
        return lookups.sites(Sites(), lookups.new(self.endpoints))

    def ready(self) -> "Intent":
        """Compute all lookup tables now, so that their first users need not wait. Return the intent itself."""
        for names in LOOKUPS.values():
            for name in names:
                getattr(self, name)
        return self

    def share(self, a: str, b: str) -> bool:
        """Return whether two endpoints are in a VCP together."""
        none: frozenset[str] = frozenset()
        return not self.pools_of.get(a, none).isdisjoint(self.pools_of.get(b, none))

    def remotes(self, endpoint: str) -> frozenset[str]:
        """Return the endpoints that share at least one VCP with this one. Not transitive; without those of cloudlets
        whose credentials were revoked."""
        found: set[str] = set()
        for vcp in self.pools_of.get(endpoint, ()):
            found |= self.vcps[vcp].members
        for cloudlet in self.revoked:
            found -= {e.name for e in self.endpoints_of.get(cloudlet, ())}
        return frozenset(found - {endpoint})

    def is_host(self, cloudlet: Cloudlet) -> bool:
        """Return whether a cloudlet is the host of a route server: it has the route server's name, and its address as
        VTEP."""
        return self.route_servers.get(cloudlet.name) == cloudlet.vtep

    def has_pe(self, cloudlet: Cloudlet) -> bool:
        """Return whether a cloudlet takes part with a PE from which route servers accept a BGP session."""
        return (cloudlet.enrolled if self.enrolled_only else cloudlet.speaks) and not self.is_host(cloudlet)

    @property
    def hosts(self) -> tuple[Cloudlet, ...]:
        """The hosts of route servers that have enrolled."""
        found = (self.cloudlets.get(name) for name in sorted(self.route_servers))
        return tuple(c for c in found if c is not None and c.enrolled and self.is_host(c))

    def protected(self, cloudlet: Cloudlet) -> tuple[Cloudlet, ...]:
        """Return the other ends of a cloudlet's BGP sessions that go through IPsec: the route servers whose hosts have
        enrolled; for such a host, all other cloudlets that have enrolled."""
        if not cloudlet.enrolled or not (hosts := self.hosts):
            return ()
        if not self.is_host(cloudlet):
            return hosts
        return tuple(c for c in self.cloudlets.values() if c.enrolled and not self.is_host(c))

    def flavour(self, endpoint: str) -> Flavour:
        """Return the flavour that an endpoint inherits from its cloudlet's PE."""
        return self.cloudlets[self.endpoints[endpoint].cloudlet].pe

    def held(self, endpoint: str) -> bool:
        """Return whether an endpoint is held back: its tenant's consent is required and is not given (yet)."""
        found = self.endpoints[endpoint]
        tenant = self.policy.tenants.get(found.tenant or "")
        return tenant is not None and tenant.consent and found.consented_by is None

    def but(self, **changes: Any) -> "Intent":
        """Return the intent with other values of some fields. The lookup tables are updated with the change: to compute
        them anew each time would cost more than all else."""
        other = replace(self, **changes)
        for source, names in LOOKUPS.items():
            known = {name: follow for name, follow in names.items() if name in self.__dict__}
            if not known:
                continue
            before, after = getattr(self, source), getattr(other, source)
            edits = [(before.get(key), after.get(key)) for key in changed(before, after)] if source in changes else []
            for name, follow in known.items():
                other.__dict__[name] = follow(self.__dict__[name], edits) if edits else self.__dict__[name]
        return other

    def with_cloudlet(self, cloudlet: Cloudlet) -> "Intent":
        """Add or replace a cloudlet."""
        return self.with_cloudlets({cloudlet.name: cloudlet})

    def with_cloudlets(self, cloudlets: Mapping[str, Cloudlet]) -> "Intent":
        """Add or replace cloudlets."""
        return self.but(cloudlets=PersistentMap.of(self.cloudlets).updated(cloudlets))

    def with_endpoint(self, endpoint: Endpoint) -> "Intent":
        """Add or replace an endpoint."""
        return self.but(endpoints=PersistentMap.of(self.endpoints).plus(endpoint.name, endpoint))

    def with_vcp(self, vcp: Vcp) -> "Intent":
        """Add or replace a VCP."""
        vcps, number = PersistentMap.of(self.vcps).plus(vcp.name, vcp), vcp.number
        if vcp.family is None or number <= self.families.get(vcp.family, 0):
            return self.but(vcps=vcps)
        return self.but(vcps=vcps, families=PersistentMap.of(self.families).plus(vcp.family, number))

    def without_vcp(self, name: str) -> "Intent":
        """Remove the VCP; its members stay endpoints."""
        return self.but(vcps=PersistentMap.of(self.vcps).minus(name))

    def without_endpoint(self, name: str) -> "Intent":
        """Remove the endpoint, also from VCPs and from the announce permits of VMs."""
        mine = (self.vcps[vcp] for vcp in self.pools_of.get(name, ()))
        vcps = {vcp.name: replace(vcp, members=vcp.members - {name}) for vcp in mine}
        endpoints = PersistentMap.of(self.endpoints).minus(name)
        intent = self.but(endpoints=endpoints, vcps=PersistentMap.of(self.vcps).updated(vcps) if vcps else self.vcps)
        left = [replace(permit, endpoints=permit.endpoints - {name}) for permit in self.permits_of.get(name, ())]
        return intent.with_permits({permit.name: permit if permit.endpoints else None for permit in left})

    def without_cloudlet(self, name: str) -> "Intent":
        """Remove the cloudlet and its endpoints."""
        intent = self
        for endpoint in self.endpoints_of.get(name, ()):
            intent = intent.without_endpoint(endpoint.name)
        return intent.but(cloudlets=PersistentMap.of(intent.cloudlets).minus(name))

    def with_member(self, vcp: str, endpoint: str) -> "Intent":
        """Put the endpoint into the VCP."""
        pool = self.vcps[vcp]
        return self.with_vcp(replace(pool, members=pool.members | {endpoint}))

    def without_member(self, vcp: str, endpoint: str) -> "Intent":
        """Take the endpoint out of the VCP."""
        pool = self.vcps[vcp]
        return self.with_vcp(replace(pool, members=pool.members - {endpoint}))

    def with_permits(self, permits: Mapping[str, AnnouncePermit | None]) -> "Intent":
        """Replace the announce permits of some VMs; None removes a VM's permit."""
        other = {name: permit for name, permit in permits.items() if self.permits.get(name) != permit}
        if not other:
            return self
        there = {name: permit for name, permit in other.items() if permit is not None}
        return self.but(permits=PersistentMap.of(self.permits).updated(there, other.keys() - there.keys()))
