"""The history of neighbours, rolled up: rounds become hours, hours become days. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import fmean, median

ROUND, HOUR, DAY = 0, 3600, 86400
"""Spans in seconds; a single measured round has none."""

MOST_ROUNDS = 1440
"""Rounds of a pair that are kept unsummarised: a day of them at one a minute."""

LEAST_KEPT = timedelta(hours=2)
"""The least time that rounds are kept, however many they are: an hour is rolled up when it is over."""

LATE = timedelta(minutes=5)
"""The delay after the end of an hour until it is rolled up. Rounds that come later cause another roll-up."""


@dataclass(frozen=True)
class Summary:
    """Rounds between two cloudlets, one or many. Times are in milliseconds, None if no echo came back."""

    rounds: int
    method: str
    sent: int
    received: int
    min_ms: float | None
    median_ms: float | None
    p95_ms: float | None
    jitter_ms: float | None


def rolled(parts: Sequence[Summary]) -> Summary:
    """Return one summary of many, at least one, in any order: the median of the medians, the 95th percentile of the
    95th percentiles, the average jitter of the rounds, and the method that most of them used."""
    methods = Counter[str]()
    for part in parts:
        methods[part.method] += part.rounds
    jitters = [(part.jitter_ms, part.rounds) for part in parts if part.jitter_ms is not None]
    weight = sum(rounds for _, rounds in jitters)
    lows, medians, highs = (_known(parts, name) for name in ("min_ms", "median_ms", "p95_ms"))
    return Summary(
        rounds=sum(part.rounds for part in parts),
        method=max(sorted(methods), key=lambda method: methods[method]),
        sent=sum(part.sent for part in parts),
        received=sum(part.received for part in parts),
        min_ms=min(lows, default=None),
        median_ms=median(medians) if medians else None,
        p95_ms=_p95(highs),
        jitter_ms=fmean((jitter for jitter, _ in jitters), [rounds for _, rounds in jitters]) if weight else None,
    )


def _known(parts: Sequence[Summary], name: str) -> list[float]:
    return [value for part in parts if (value := getattr(part, name)) is not None]


def _p95(values: list[float]) -> float | None:
    """Return the 95th percentile by nearest rank."""
    return sorted(values)[(95 * len(values) + 99) // 100 - 1] if values else None


def start(at: datetime, span: int) -> datetime:
    """Return the start, in UTC, of the hour or day that contains a moment."""
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % span, UTC)


def kept(span: int, probe_seconds: float) -> timedelta:
    """Return how long rows of a span are kept: rounds for a day, or as many as a day has at one a minute; hours for 30
    days, days for a year. So a pair never has more than 1,440 (7,200 where rounds are a second apart) + 720 + 365
    rows."""
    if span == ROUND:
        return max(LEAST_KEPT, min(timedelta(days=1), timedelta(seconds=probe_seconds * MOST_ROUNDS)))
    return timedelta(days=30 if span == HOUR else 365)
