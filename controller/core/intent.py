"""What the operators want the region to be: cloudlets, endpoints, pools. Immutable; every edit makes a new one.

The database holds the same in its tables; this is the form that decisions are made on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from controller.wire.flavours import Flavour


class State(StrEnum):
    """A cloudlet's life: invited → (pending →) active → draining → gone."""

    INVITED = "invited"
    PENDING = "pending"
    ACTIVE = "active"
    DRAINING = "draining"


@dataclass(frozen=True)
class Cloudlet:
    """`credential` is the digest of the agent's; `version` the generation at which its desired state last changed."""

    name: str
    pe: Flavour
    vtep: str
    state: State = State.INVITED
    credential: str | None = None
    version: int = 0

    @property
    def speaks(self) -> bool:
        """Whether route servers accept a BGP session from it."""
        return self.state in (State.ACTIVE, State.DRAINING)


@dataclass(frozen=True)
class Endpoint:
    """A cloudlet LAN's attachment. `site` (1..4095) is unique in the region, `index` (1..255) at the cloudlet."""

    name: str
    cloudlet: str
    site: int
    index: int
    prefix: str
    gateway: str
    ports: tuple[str, ...] = ()
    vni: int | None = None
    mtu: int = 1450
    lease_seconds: int = 3600
    max_routes: int | None = None


@dataclass(frozen=True)
class Vcp:
    """A pool. Its flavour is that of every member's PE. `managed_by_policy`: a policy made it or took it over, and a
    later policy that does not name it deletes it."""

    name: str
    flavour: Flavour = Flavour.VPLS
    description: str = ""
    managed_by_policy: bool = False
    members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Intent:
    """The region at one generation. The mappings are never changed in place."""

    generation: int = 0
    cloudlets: Mapping[str, Cloudlet] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    vcps: Mapping[str, Vcp] = field(default_factory=dict)

    @cached_property
    def pools_of(self) -> Mapping[str, frozenset[str]]:
        """Endpoint name → names of the VCPs it is a member of (only endpoints that are in any)."""
        pools: dict[str, set[str]] = {}
        for vcp in self.vcps.values():
            for member in vcp.members:
                pools.setdefault(member, set()).add(vcp.name)
        return {name: frozenset(names) for name, names in pools.items()}

    @cached_property
    def endpoints_of(self) -> Mapping[str, tuple[Endpoint, ...]]:
        """Cloudlet name → its endpoints by index (only cloudlets that have any)."""
        found: dict[str, list[Endpoint]] = {}
        for endpoint in self.endpoints.values():
            found.setdefault(endpoint.cloudlet, []).append(endpoint)
        return {name: tuple(sorted(mine, key=lambda e: e.index)) for name, mine in found.items()}

    @cached_property
    def credentials(self) -> Mapping[str, str]:
        """Credential digest → cloudlet name."""
        return {c.credential: c.name for c in self.cloudlets.values() if c.credential is not None}

    def share(self, a: str, b: str) -> bool:
        """Whether two endpoints are in a VCP together."""
        none: frozenset[str] = frozenset()
        return not self.pools_of.get(a, none).isdisjoint(self.pools_of.get(b, none))

    def remotes(self, endpoint: str) -> frozenset[str]:
        """The endpoints that share at least one VCP with this one. Not transitive."""
        found: set[str] = set()
        for vcp in self.pools_of.get(endpoint, ()):
            found |= self.vcps[vcp].members
        return frozenset(found - {endpoint})

    def flavour(self, endpoint: str) -> Flavour:
        """The flavour an endpoint inherits from its cloudlet's PE."""
        return self.cloudlets[self.endpoints[endpoint].cloudlet].pe

    def but(self, **changes: Any) -> "Intent":
        """With other values of some fields. What was derived from the rest is carried over: deriving it anew with
        every change would cost more than all else."""
        other = replace(self, **changes)
        for derived, source in (("pools_of", "vcps"), ("endpoints_of", "endpoints"), ("credentials", "cloudlets")):
            if source not in changes and derived in self.__dict__:
                other.__dict__[derived] = self.__dict__[derived]
        return other

    def with_cloudlet(self, cloudlet: Cloudlet) -> "Intent":
        """Adds or replaces a cloudlet."""
        return self.but(cloudlets={**self.cloudlets, cloudlet.name: cloudlet})

    def with_endpoint(self, endpoint: Endpoint) -> "Intent":
        """Adds or replaces an endpoint."""
        return self.but(endpoints={**self.endpoints, endpoint.name: endpoint})

    def with_vcp(self, vcp: Vcp) -> "Intent":
        """Adds or replaces a VCP."""
        other = self.but(vcps={**self.vcps, vcp.name: vcp})
        if "pools_of" in self.__dict__:
            before = self.vcps[vcp.name].members if vcp.name in self.vcps else frozenset()
            none: frozenset[str] = frozenset()
            pools = dict(self.pools_of)
            for member in before ^ vcp.members:
                pools[member] = pools.get(member, none) ^ {vcp.name}
                if not pools[member]:
                    del pools[member]
            other.__dict__["pools_of"] = pools
        return other

    def without_vcp(self, name: str) -> "Intent":
        """Without the VCP; its members stay endpoints."""
        return self.but(vcps={k: v for k, v in self.vcps.items() if k != name})

    def without_endpoint(self, name: str) -> "Intent":
        """Without the endpoint, in VCPs too."""
        vcps = {k: replace(v, members=v.members - {name}) if name in v.members else v for k, v in self.vcps.items()}
        return self.but(endpoints={k: v for k, v in self.endpoints.items() if k != name}, vcps=vcps)

    def without_cloudlet(self, name: str) -> "Intent":
        """Without the cloudlet and its endpoints."""
        intent = self
        for endpoint in self.endpoints_of.get(name, ()):
            intent = intent.without_endpoint(endpoint.name)
        return intent.but(cloudlets={k: v for k, v in intent.cloudlets.items() if k != name})

    def with_member(self, vcp: str, endpoint: str) -> "Intent":
        """The endpoint in the VCP."""
        pool = self.vcps[vcp]
        return self.with_vcp(replace(pool, members=pool.members | {endpoint}))

    def without_member(self, vcp: str, endpoint: str) -> "Intent":
        """The endpoint out of the VCP."""
        pool = self.vcps[vcp]
        return self.with_vcp(replace(pool, members=pool.members - {endpoint}))


def concerned(old: Intent, new: Intent) -> frozenset[str]:
    """The cloudlets, before or after, whose desired state differs between two intents.

    Endpoints never change once made, so a desired state differs when the cloudlet's own endpoints, its state, or the
    set of its endpoints' remotes do. Costs work in proportion to the pools that changed, not to the region."""
    names = set(_own_changes(old, new))
    for pool in old.vcps.keys() | new.vcps.keys():
        before, after = old.vcps.get(pool), new.vcps.get(pool)
        was = before.members if before else frozenset()
        now = after.members if after else frozenset()
        if was == now:
            continue
        for moved in was ^ now:
            for other in (was | now) - {moved}:
                if old.share(moved, other) != new.share(moved, other):
                    names |= {_cloudlet_of(moved, old, new), _cloudlet_of(other, old, new)}
    return frozenset(names)


def _own_changes(old: Intent, new: Intent) -> Iterator[str]:
    for name in old.endpoints.keys() ^ new.endpoints.keys():
        yield _cloudlet_of(name, old, new)
    for name in old.cloudlets.keys() | new.cloudlets.keys():
        before, after = old.cloudlets.get(name), new.cloudlets.get(name)
        if before is not after and (before is None or after is None or before.speaks != after.speaks):
            yield name


def _cloudlet_of(endpoint: str, old: Intent, new: Intent) -> str:
    return (new.endpoints.get(endpoint) or old.endpoints[endpoint]).cloudlet
