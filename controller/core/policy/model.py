"""A whole policy, as decisions read it: every section, with its defaults.

Immutable, and free of I/O and of the YAML it came from. Lengths are in metres, times in the unit their name says,
speeds in metres per second, rates in kbit/s. A name in here need not exist in the region: a policy may be written
before it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from controller.core.policy.promises import PolicyTest
from controller.wire.flavours import Flavour
from controller.wire.host_settings import NO_SETTINGS, HostSettings

Selector = Mapping[str, frozenset[str]]
"""Label → the values that match. All labels have to match; a label without values matches any value."""


@dataclass(frozen=True)
class LanPlan:
    """One LAN's part of the address plan. `reservations` maps a device to its MD's address (the VM's is the one above),
    `exclusions` are the first and last address of ranges that are not assigned, whole pairs. `bind_sources` and `hosts`
    None: as in Addresses."""

    lease_seconds: int | None = None
    reservations: Mapping[str, str] = field(default_factory=dict)
    exclusions: tuple[tuple[str, str], ...] = ()
    bind_sources: bool | None = None
    hosts: HostSettings | None = None


@dataclass(frozen=True)
class Addresses:
    """The address plan (Teka, section III) by endpoint; `lease_seconds` None leaves each endpoint its own.
    `bind_sources`: whether a LAN's devices may use only their own addresses; None means yes. `hosts`: the settings that
    hosts receive with their address, if their LAN has no own ones."""

    lease_seconds: int | None = None
    lans: Mapping[str, LanPlan] = field(default_factory=dict)
    bind_sources: bool | None = None
    hosts: HostSettings = NO_SETTINGS

    def bound(self, endpoint: str) -> bool:
        """Return whether only its holder may use an address at that LAN's access ports."""
        said = self.lans[endpoint].bind_sources if endpoint in self.lans else None
        return next((each for each in (said, self.bind_sources) if each is not None), True)

    def told(self, endpoint: str) -> HostSettings:
        """Return the settings that hosts of that LAN receive with their address."""
        own = self.lans[endpoint].hosts if endpoint in self.lans else None
        return self.hosts if own is None else own


@dataclass(frozen=True)
class Site:
    """The settings in which one cloudlet differs; None for the common value."""

    coverage_m: float | None = None
    rto_seconds: float | None = None
    walking_speed: float | None = None
    address_seconds: float | None = None


@dataclass(frozen=True)
class Proximity:
    """The definition of near (Teka, "Adding a cloudlet to a VPN"): two cloudlets at most coverage + (RTO - RTT/2 -
    T_IP) * V apart. `rto_seconds` is how long TCP goes on trying, `address_seconds` T_IP, the time to get an
    address."""

    coverage_m: float = 100.0
    rto_seconds: float = 780.0
    walking_speed: float = 1.2
    address_seconds: float = 0.0
    sites: Mapping[str, Site] = field(default_factory=dict)


@dataclass(frozen=True)
class Neighbours:
    """The definition of a possible neighbour: RTT (median) below `rtt_ms` and loss (0..1) at most `max_loss`; a
    possible one stays possible up to `keep_rtt_ms`. Without a report for `stale_intervals` intervals of `probe_seconds`
    it is stale."""

    probe_seconds: float = 60.0
    echoes: int = 5
    rtt_ms: float = 150.0
    keep_rtt_ms: float = 180.0
    max_loss: float = 0.2
    stale_intervals: int = 3


@dataclass(frozen=True)
class PolicyVcp:
    """A pool, or with `automatic` a family of pools that proximity makes. Members are those named, in the order of the
    file, and those on cloudlets that `select` matches (None: no others). `automatic`: those that `select` matches
    (None: all of the flavour) are placed by distance, if no RTT above `max_rtt_ms` forbids it."""

    name: str
    flavour: Flavour = Flavour.VPLS
    description: str = ""
    members: tuple[str, ...] = ()
    select: Selector | None = None
    automatic: bool = False
    max_rtt_ms: float | None = None


class Action(StrEnum):
    """The treatment of traffic that a rule matches (RFC 8955, section 7)."""

    ACCEPT = "accept"
    DROP = "drop"
    RATE_LIMIT = "rate-limit"
    MARK = "mark"


@dataclass(frozen=True)
class AccessRule:
    """A rule between members of one pool, in one direction. Empty `sources`, `destinations`, `protocols` or `ports`
    match all. `ports` are first and last destination port. The first rule that matches decides; if none does, traffic
    is accepted."""

    name: str
    action: Action
    sources: frozenset[str] = frozenset()
    destinations: frozenset[str] = frozenset()
    protocols: tuple[str, ...] = ()
    ports: tuple[tuple[int, int], ...] = ()
    rate_kbps: int | None = None
    dscp: int | None = None


@dataclass(frozen=True)
class BandwidthLimit:
    """The most bits per second that each transfer of memory, disk or an image from `source` to `destination` may take
    (None: any cloudlet), always or in these `hours`: minutes of a day in UTC, the second exclusive, and below the first
    if they span midnight."""

    bits: int
    source: str | None = None
    destination: str | None = None
    hours: tuple[int, int] | None = None

    def __str__(self) -> str:
        ends = (("from", self.source), ("to", self.destination))
        where = "".join(f" {word} {name}" for word, name in ends if name is not None)
        when = "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in self.hours or ())
        return f"{self.bits / 1e6:g} Mbit/s{where}{f' at {when} UTC' if when else ''}"


@dataclass(frozen=True)
class ScheduledMoves:
    """Moves of `vms` to an endpoint whenever the five fields of `cron` name the time (crontab(5), UTC). `keep`: they
    keep their addresses. Each is copied there `copied_before` seconds earlier, 0 if not ahead of time."""

    vms: tuple[str, ...]
    endpoint: str
    cron: str
    keep: bool = False
    copied_before: int = 0


class OnVerdict(StrEnum):
    """The consequence of the verdict that a VM should start anew near its device: none (only moves are made), that it
    does, or that an operator is asked."""

    MOVE = "move"
    SYNTHESISE = "synthesise"
    ASK = "ask"


@dataclass(frozen=True)
class Migration:
    """The conditions under which a VM follows its device (Teka, section V). If the predicted RTT during the move is
    below `rtt_ms`, it moves; above `max_rtt_ms`, it does not; between, it moves if the move is predicted to take less
    than a new VM until it serves: as measured, or `initiation_seconds`. `on_verdict` is the consequence of the verdict
    that a new VM is better. `moves_per_link` (from one cloudlet to another) and
    `moves_per_cloudlet` limit simultaneous moves; `downtime_ms` is the target for their pause, `compression` and
    `post_copy` are methods that the hypervisor may use, and `linger_seconds` is the longest time that an old address
    stays while connections use it. Both ends keep a copy of a VM's memory for `keep_seconds` after a move, if their
    driver can: the copies of a cloudlet have at most `keep_bytes`. Over a thin line each end mirrors at most
    `mirror_bytes` of a VM's memory, and as much of its disk. `bandwidth` limits each transfer. `schedule` has moves
    that recur. A device is taken to be elsewhere once it has been there for `settle_seconds`. `cpu` is the CPU of VMs
    without a choice of their own (`controller.core.cpu_choice`). No VM follows its device to a host of which, with the
    VM, more than `max_load` of each processor would be in use; 0: not looked at."""

    rtt_ms: float = 150.0
    max_rtt_ms: float = 1000.0
    initiation_seconds: float = 20.0
    on_verdict: OnVerdict = OnVerdict.MOVE
    moves_per_link: int = 2
    moves_per_cloudlet: int = 4
    downtime_ms: int = 300
    compression: bool = True
    post_copy: bool = False
    linger_seconds: float = 300.0
    keep_seconds: int = 0
    keep_bytes: int = 16 << 30
    mirror_bytes: int = 1 << 40
    bandwidth: tuple[BandwidthLimit, ...] = ()
    schedule: tuple[ScheduledMoves, ...] = ()
    settle_seconds: float = 2.0
    cpu: str = "host"
    max_load: float = 0.0


@dataclass(frozen=True)
class Tenant:
    """The places of a tenant's endpoints: at `cloudlets` or those that `select` matches (both None: at any), in `vcps`
    (None: in any). `consent`: each endpoint is held back until the tenant has consented to it."""

    name: str
    cloudlets: frozenset[str] | None = None
    select: Selector | None = None
    vcps: frozenset[str] | None = None
    consent: bool = True


@dataclass(frozen=True)
class PlacedImage:
    """An image, by the SHA-256 `digest` of its manifest in hex, and the cloudlets to which it belongs: all
    (`everywhere`), or those named, those that `select` matches, those with members in `vcps`, and those to which the
    VMs of `devices` can move. Agents fetch it from each other and from the `registry`; None: from each other only."""

    name: str
    digest: str
    registry: str | None = None
    everywhere: bool = True
    cloudlets: frozenset[str] = frozenset()
    select: Selector | None = None
    vcps: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rules:
    """A policy without its text. A section that a policy leaves out has the defaults here."""

    addresses: Addresses = Addresses()
    proximity: Proximity = Proximity()
    neighbours: Neighbours = Neighbours()
    vcps: Mapping[str, PolicyVcp] = field(default_factory=dict)
    access: Mapping[str, tuple[AccessRule, ...]] = field(default_factory=dict)
    migration: Migration = Migration()
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    images: Mapping[str, PlacedImage] = field(default_factory=dict)
    tests: tuple[PolicyTest, ...] = ()

    @cached_property
    def image_devices(self) -> frozenset[str]:
        """All devices that images name."""
        return frozenset(device for image in self.images.values() for device in image.devices)
