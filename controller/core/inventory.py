"""What there is in a region: cloudlets, their endpoints, and pools. Immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.core.addresses import AddressPlan
from controller.core.proximity.geodesic import Position
from controller.wire.flavours import Flavour


class CloudletState(StrEnum):
    """A cloudlet's life: invited → (pending →) active → draining → gone."""

    INVITED = "invited"
    PENDING = "pending"
    ACTIVE = "active"
    DRAINING = "draining"


@dataclass(frozen=True)
class Cloudlet:
    """`credential` is the digest of the agent's, and good only together with a certificate for the key whose digest is
    `key`, if there is one (`proofs`); `version` is the generation at which its desired state last changed.
    `latitude` and `longitude` are WGS-84 degrees, both None where nobody said. `revoked`: what its agent had is
    good for nothing, and until it enrols again its PE is nobody's peer."""

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

    @property
    def place(self) -> Position | None:
        """Where it is, if somebody said."""
        if self.latitude is None or self.longitude is None:
            return None
        return Position(self.latitude, self.longitude)

    @property
    def speaks(self) -> bool:
        """Whether it takes part: route servers accept a BGP session from its PE, if it has one (`Intent.has_pe`)."""
        return self.state in (CloudletState.ACTIVE, CloudletState.DRAINING) and not self.revoked

    @property
    def enrolled(self) -> bool:
        """Whether it takes part and has an agent."""
        return self.speaks and self.credential is not None


@dataclass(frozen=True)
class Endpoint:
    """A cloudlet LAN's attachment. `site` is unique in the region, up to 4095 for VPLS (its VE ID), `index` (1..255)
    at the cloudlet. `prefix6` and `gateway6` are its IPv6 LAN, if it has one; `tenant` says whose it is, if
    anybody's, and `consented_by` who has consented to it in that tenant's name, if anybody has."""

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
    """Where a VM may be announced from, as route servers hold EVPN PEs to it: at the LAN where it is, and at the one
    that it is on its way to or from. `macs` are its vNICs', and nobody else's in the pools of these `endpoints`. `kept`
    are the addresses that it is known by, in both families, if they are not of each of these LANs."""

    name: str
    macs: tuple[str, ...]
    endpoints: frozenset[str]
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vcp:
    """A pool. Its flavour is that of every member's PE. `managed_by_policy`: a policy made it or took it over, and a
    later policy that does not name it deletes it. `family` is the policy's name for the pools of which this is one, if
    proximity made it."""

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
