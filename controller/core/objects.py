"""The objects of a region: cloudlets, their endpoints, and pools. Immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.core.addresses import AddressPlan
from controller.core.proximity.geodesic import Position
from controller.wire.flavours import Flavour


class CloudletState(StrEnum):
    """The states of a cloudlet: invited → (pending →) active → draining → gone."""

    INVITED = "invited"
    PENDING = "pending"
    ACTIVE = "active"
    DRAINING = "draining"


@dataclass(frozen=True)
class Cloudlet:
    """`credential` is the digest of the agent's credential. If `key` is set, the credential is valid only together with
    a certificate for the key with that digest (`credential_proofs`). `version` is the generation at which its desired
    state last changed. `latitude` and `longitude` are WGS-84 degrees, both None if unknown. `revoked`: its agent's
    credential is not valid, and route servers accept no session from its PE until it enrols again. `unmanaged`: its PE
    has no agent, and others configure it. That PE has the AS number `asn`, None for the region's, and is at most
    `ttl_security` hops away (GTSM, RFC 5082), None for the route servers' own setting."""

    name: str
    pe: Flavour
    vtep: str
    state: CloudletState = CloudletState.INVITED
    credential: str | None = None
    version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    latitude: float | None = None
    longitude: float | None = None
    revoked: bool = False
    key: str | None = None
    unmanaged: bool = False
    asn: int | None = None
    ttl_security: int | None = None

    @property
    def place(self) -> Position | None:
        """Its position, if known."""
        if self.latitude is None or self.longitude is None:
            return None
        return Position(self.latitude, self.longitude)

    @property
    def speaks(self) -> bool:
        """Whether it takes part: route servers accept a BGP session from its PE, if it has one (`Intent.has_pe`)."""
        return self.state in (CloudletState.ACTIVE, CloudletState.DRAINING) and not self.revoked

    @property
    def managed(self) -> bool:
        """Whether it takes part and its PE is one that an agent configures."""
        return self.speaks and not self.unmanaged

    @property
    def enrolled(self) -> bool:
        """Whether it takes part and has an agent."""
        return self.speaks and self.credential is not None


@dataclass(frozen=True)
class Endpoint:
    """A cloudlet LAN's attachment. `site` is unique in the region, up to 4095 for VPLS (its VE ID), `index` (1..255) at
    the cloudlet. `prefix6` and `gateway6` are its IPv6 LAN, if it has one. `tenant` is its owner, if any, and
    `consented_by` is the name of the user who consented to it for that tenant, if any did."""

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
    tenant: str | None = None
    prefix6: str | None = None
    gateway6: str | None = None
    consented_by: str | None = None

    @property
    def plan(self) -> AddressPlan:
        """Its address plan: IPv4, in pairs that IPv6 has room for too."""
        return AddressPlan.of(self.prefix, self.prefix6)


@dataclass(frozen=True)
class AnnouncePermit:
    """The endpoints from which a VM may be announced, as route servers enforce it on EVPN PEs: the LAN where it is, and
    the one that it is moving to or from. `macs` are its vNICs'; no other machine in the pools of these `endpoints` may
    use them. `kept` are its addresses, in both families, that are outside of at least one of these LANs."""

    name: str
    macs: tuple[str, ...]
    endpoints: frozenset[str]
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vcp:
    """A pool. Its flavour is that of every member's PE. `managed_by_policy`: a policy made it or took it over, and a
    later policy that does not name it deletes it. `family` is the policy's name for the group of pools to which this
    one belongs, if proximity made it."""

    name: str
    flavour: Flavour = Flavour.VPLS
    description: str = ""
    managed_by_policy: bool = False
    members: frozenset[str] = frozenset()
    family: str | None = None

    @property
    def number(self) -> int:
        """Its number in its family; 0 if its name has none."""
        number = self.name.rpartition("-")[2]
        return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
