"""A whole policy, as decisions read it: every section, with what holds where the policy is silent.

Immutable, and free of I/O and of the YAML it came from. Lengths are in metres, times in the unit their name says,
speeds in metres per second, rates in kbit/s. A name in here need not exist in the region: a policy may be written
before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.core.policy.promises import PolicyTest
from controller.wire.flavours import Flavour
from controller.wire.host_settings import NO_SETTINGS, HostSettings

Selector = Mapping[str, frozenset[str]]
"""Label → the values that match. All labels have to match; one that is empty matches whatever has the label at all."""


@dataclass(frozen=True)
class LanPlan:
    """One LAN's part of the address plan. `reservations` maps a device to its MD's address (the VM's is the one above),
    `exclusions` are first and last address of what is not given out, whole pairs. `bind_sources` and `hosts` None: as
    Addresses has it."""

    lease_seconds: int | None = None
    reservations: Mapping[str, str] = field(default_factory=dict)
    exclusions: tuple[tuple[str, str], ...] = ()
    bind_sources: bool | None = None
    hosts: HostSettings | None = None


@dataclass(frozen=True)
class Addresses:
    """The address plan (Teka, section III) by endpoint; `lease_seconds` None leaves each endpoint its own.
    `bind_sources`: whether a LAN's devices may use their own addresses only; None: so it is. `hosts`: what hosts are
    told beside their address, where their LAN has nothing of its own."""

    lease_seconds: int | None = None
    lans: Mapping[str, LanPlan] = field(default_factory=dict)
    bind_sources: bool | None = None
    hosts: HostSettings = NO_SETTINGS

    def bound(self, endpoint: str) -> bool:
        """Whether at that LAN's access ports an address is its holder's alone."""
        said = self.lans[endpoint].bind_sources if endpoint in self.lans else None
        return next((each for each in (said, self.bind_sources) if each is not None), True)

    def told(self, endpoint: str) -> HostSettings:
        """What the hosts of that LAN are told beside their address."""
        own = self.lans[endpoint].hosts if endpoint in self.lans else None
        return self.hosts if own is None else own


@dataclass(frozen=True)
class Site:
    """What one cloudlet has other than the rest; None where it has not."""

    coverage_m: float | None = None
    rto_seconds: float | None = None
    walking_speed: float | None = None
    address_seconds: float | None = None


@dataclass(frozen=True)
class Proximity:
    """When two cloudlets are near (Teka, "Adding a cloudlet to a VPN"): at most coverage + (RTO - RTT/2 - T_IP) * V
    apart. `rto_seconds` is how long TCP goes on trying, `address_seconds` T_IP, the time to get an address."""

    coverage_m: float = 100.0
    rto_seconds: float = 780.0
    walking_speed: float = 1.2
    address_seconds: float = 0.0
    sites: Mapping[str, Site] = field(default_factory=dict)


@dataclass(frozen=True)
class Neighbours:
    """Who is a possible neighbour: RTT (median) below `rtt_ms` and loss (0..1) at most `max_loss`; one that is stays
    one up to `keep_rtt_ms`. Not heard of for `stale_intervals` intervals of `probe_seconds`: stale."""

    probe_seconds: float = 60.0
    echoes: int = 5
    rtt_ms: float = 150.0
    keep_rtt_ms: float = 180.0
    max_loss: float = 0.2
    stale_intervals: int = 3


@dataclass(frozen=True)
class PolicyVcp:
    """A pool, or with `automatic` a family of pools that proximity makes. Members are those named, in the order of the
    file, and those on cloudlets that `select` matches (None: nobody). `automatic`: those that `select` matches (None:
    everybody of the flavour) are placed by distance, where no RTT above `max_rtt_ms` forbids it."""

    name: str
    flavour: Flavour = Flavour.VPLS
    description: str = ""
    members: tuple[str, ...] = ()
    select: Selector | None = None
    automatic: bool = False
    max_rtt_ms: float | None = None


class Action(StrEnum):
    """What becomes of traffic that a rule matches (RFC 8955, section 7)."""

    ACCEPT = "accept"
    DROP = "drop"
    RATE_LIMIT = "rate-limit"
    MARK = "mark"


@dataclass(frozen=True)
class AccessRule:
    """Between members of one pool, in one direction. Empty `sources`, `destinations`, `protocols` or `ports` match all.
    `ports` are first and last destination port. The first rule that matches decides; none: accepted."""

    name: str
    action: Action
    sources: frozenset[str] = frozenset()
    destinations: frozenset[str] = frozenset()
    protocols: tuple[str, ...] = ()
    ports: tuple[tuple[int, int], ...] = ()
    rate_kbps: int | None = None
    dscp: int | None = None


@dataclass(frozen=True)
class Migration:
    """When a VM follows its device (Teka, section V): predicted RTT during the move below `rtt_ms` it does, above
    `max_rtt_ms` it does not; between, if the move is predicted to take less than `initiation_seconds`, the time that a
    new VM takes to be of service. So many moves at a time use a link (from one cloudlet to another) and a cloudlet;
    `downtime_ms` is the pause they aim at, `compression` and `post_copy` what the hypervisor may do for it, and
    `linger_seconds` how long an old address lives on at most, while connections hang on it. A device is taken to be
    elsewhere once it has been there for `settle_seconds`. `cpu` is what VMs get that do not say otherwise
    (`core.cpu_choice`)."""

    rtt_ms: float = 150.0
    max_rtt_ms: float = 1000.0
    initiation_seconds: float = 20.0
    moves_per_link: int = 2
    moves_per_cloudlet: int = 4
    downtime_ms: int = 300
    compression: bool = True
    post_copy: bool = False
    linger_seconds: float = 300.0
    settle_seconds: float = 2.0
    cpu: str = "host"


@dataclass(frozen=True)
class Tenant:
    """Where a tenant's endpoints may be: at `cloudlets` or those that `select` matches (both None: at any), in `vcps`
    (None: in any). `consent`: each is held back until the tenant has consented to it."""

    name: str
    cloudlets: frozenset[str] | None = None
    select: Selector | None = None
    vcps: frozenset[str] | None = None
    consent: bool = True


@dataclass(frozen=True)
class Rules:
    """A policy without its text. A section that a policy leaves out is as it is here."""

    addresses: Addresses = Addresses()
    proximity: Proximity = Proximity()
    neighbours: Neighbours = Neighbours()
    vcps: Mapping[str, PolicyVcp] = field(default_factory=dict)
    access: Mapping[str, tuple[AccessRule, ...]] = field(default_factory=dict)
    migration: Migration = Migration()
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    tests: tuple[PolicyTest, ...] = ()
