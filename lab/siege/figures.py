"""The figures of one phase. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.percentile import percentile
from lab.siege.gauges import Gauge


@dataclass(frozen=True)
class Pings:
    """The pings of one device to another: how many it sent, how many were lost, and the round trip at p99 in ms."""

    sent: int
    lost: int
    p99_ms: float


@dataclass(frozen=True)
class Calls:
    """The requests of one caller: how many, how many without a good answer, seconds at p50, p99 and most, and how many
    answers of each status (0: no answer)."""

    sent: int
    failed: int
    p50: float
    p99: float
    most: float
    statuses: Mapping[int, int]


@dataclass(frozen=True)
class Figures:
    """One phase. `losses` are the times at which pings were lost. `deeds` counts the actions of legitimate users,
    `missing` are those without their event, and `failed` those that did not work. `leases` counts their new clients,
    `unleased` are those that the controller does not know, and `resets` the legitimate BGP sessions that ended.
    `events` counts all events by type. `database` is by how many bytes it grew. `attacks` are each attacker's counts,
    and `gone` the attackers that ended before they were asked to."""

    seconds: float
    pings: Mapping[str, Pings]
    calls: Mapping[str, Calls]
    joins: Calls
    gauges: Mapping[str, Gauge]
    load: float
    deeds: int
    losses: Sequence[str]
    missing: Sequence[str]
    failed: Sequence[str]
    leases: int
    unleased: Sequence[str]
    resets: Sequence[str]
    events: Mapping[str, int]
    database: int
    attacks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    gone: Sequence[str] = ()


def calls(asked: Sequence[tuple[float, float, int]]) -> Calls:
    """Return the sum of requests, each given as time, seconds and status."""
    took = [seconds for _, seconds, _ in asked]
    statuses = dict(Counter(status for _, _, status in asked))
    failed = sum(not 200 <= status < 300 for _, _, status in asked)
    took = took or [0.0]
    return Calls(len(asked), failed, percentile(took, 50), percentile(took, 99), max(took), statuses)


def missing(deeds: Sequence[tuple[str, str]], events: Sequence[tuple[str, str]]) -> list[str]:
    """Return the deeds that have fewer events than times they were done."""
    left = Counter(deeds) - Counter(events)
    return [f"{count} of {type} {subject}" for (type, subject), count in sorted(left.items())]
