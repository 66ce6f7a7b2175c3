"""The `tests` of a policy, by kind. An expected value that is None is not checked."""

from dataclasses import dataclass
from typing import Literal

Coordinates = tuple[float, float]
"""Latitude and longitude in degrees, WGS-84."""

Neighbourhood = Literal["near", "possible", "stale", "not"]
Decision = Literal["move", "synthesise", "stay"]


@dataclass(frozen=True)
class PathTest:
    """Every source to every destination: something gets through (`reachable`) or nothing does."""

    name: str
    reachable: bool
    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    protocol: str | None = None
    port: int | None = None


@dataclass(frozen=True)
class AddressTest:
    """The plan's answer for `device` (its reservation) or, without one, for the pair of `md`."""

    name: str
    lan: str
    prefix: str | None = None
    prefix6: str | None = None
    device: str | None = None
    md: str | None = None
    vm: str | None = None
    md6: str | None = None
    vm6: str | None = None
    excluded: bool | None = None
    lease_seconds: int | None = None


@dataclass(frozen=True)
class NeighbourTest:
    """The relation of two cloudlets, by their positions or by measurements between them. The region supplies values
    that are None; but if `rtt_ms` is given, the defaults are no loss, a report of just now, and no neighbour before."""

    name: str
    expect: Neighbourhood
    source: str | None = None
    destination: str | None = None
    source_at: Coordinates | None = None
    destination_at: Coordinates | None = None
    distance_m: float | None = None
    rtt_ms: float | None = None
    loss: float | None = None
    age_seconds: float | None = None
    possible_before: bool | None = None

    @property
    def asks(self) -> bool:
        """Whether the test needs the region's measurements between the two: it gives no RTT, and does not ask for
        `near`, nor for `not` with a distance or a position."""
        named = self.source is not None and self.destination is not None
        placed = self.distance_m is not None or self.source_at is not None or self.destination_at is not None
        return named and self.rtt_ms is None and self.expect != "near" and not (self.expect == "not" and placed)


@dataclass(frozen=True)
class MoveProfile:
    """A VM and the link that it moves over: megabytes (a million bytes) of memory in use, of memory written a second,
    and of disk that is not there yet; the link's bandwidth in Mbit/s."""

    memory_mb: float
    dirty_mb_per_second: float = 1.0
    bandwidth_mbps: float = 100.0
    disk_mb: float = 0.0


@dataclass(frozen=True)
class MoveTest:
    """The decision on a VM whose device was seen elsewhere. A prediction that is None is taken as impossible. With a
    `profile` `rtt_ms` is the round trip before the move, and the predictions are the model's."""

    name: str
    expect: Decision
    neighbour: Literal["possible", "stale", "not"] = "possible"
    rtt_ms: float | None = None
    migration_seconds: float | None = None
    profile: MoveProfile | None = None
    initiation_seconds: float | None = None
    can_synthesise: bool = True


PolicyTest = PathTest | AddressTest | NeighbourTest | MoveTest
