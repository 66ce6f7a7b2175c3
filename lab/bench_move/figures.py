"""The figures of a move, computed from what was seen of it: pings to both addresses, the application's bytes, the WAN's
counters. Pure. Times are seconds since the epoch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

MARGIN = 1.0
"""Seconds before and after a move that still belong to it."""

Series = Sequence[tuple[float, float]]
"""Times, and the bytes that came in the 10 ms from each of them on."""


@dataclass(frozen=True)
class Moved:
    """A move as its caller saw it: ordered at `began`, nothing left to be done at `ended`. `paused_ms` and
    `memory_bytes` are the hypervisor's figures; `paths` is the number of paths that the memory took; `steps` are in
    seconds."""

    began: float
    ended: float
    paused_ms: float
    memory_bytes: int
    paths: int
    steps: Mapping[str, float]


@dataclass(frozen=True)
class Seen:
    """The observations of a move from outside. Replies are (time, RTT in ms). `wan_bytes` went from cloudlet to
    cloudlet during the move. `before` and `after` are bit/s at full speed."""

    old: Sequence[tuple[float, float]]
    new: Sequence[tuple[float, float]]
    stream: Series
    wan_bytes: int
    before: float
    after: float


@dataclass(frozen=True)
class Figures:
    """Times are in seconds or, where the name says so, milliseconds; rates in bit/s. `answering_seconds` is the time
    from the order until the guest answered at the destination. During `down_ms` neither address answered, and during
    `stall_ms` no byte came to the application. RTTs are medians of the answered pings."""

    seconds: float
    answering_seconds: float
    paused_ms: float
    down_ms: float
    stall_ms: float
    wan_bytes: int
    memory_bytes: int
    paths: int
    before: float
    during: float
    after: float
    rtt_before_ms: float
    rtt_during_ms: float
    rtt_after_ms: float
    steps: Mapping[str, float]


def figures(moved: Moved, seen: Seen) -> Figures:
    """Return the figures of a move. Raises ValueError if nothing at all answered, or streamed, before the move or after
    it."""
    begin, end = moved.began - MARGIN, moved.ended + MARGIN
    answered = sorted([*seen.old, *seen.new])
    silent, answers = gap([at for at, _ in answered], begin, end)
    starved, fed = gap([at for at, _ in seen.stream], begin, end)
    return Figures(
        seconds=moved.ended - moved.began,
        answering_seconds=answers - moved.began,
        paused_ms=moved.paused_ms,
        down_ms=(answers - silent) * 1000,
        stall_ms=(fed - starved) * 1000,
        wan_bytes=seen.wan_bytes,
        memory_bytes=moved.memory_bytes,
        paths=moved.paths,
        before=seen.before,
        during=rate(seen.stream, moved.began, answers),
        after=seen.after,
        rtt_before_ms=rtt(answered, begin, moved.began),
        rtt_during_ms=rtt(answered, moved.began, answers),
        rtt_after_ms=rtt(answered, moved.ended, end),
        steps=dict(moved.steps),
    )


def gap(times: Iterable[float], begin: float, end: float) -> tuple[float, float]:
    """Return the beginning and the end of the longest gap in `times` (which ascend); a gap that reaches into the
    interval counts. Raises ValueError if there is no time before the end of the interval, or none after it: that is no
    gap, but the end of all."""
    known = list(times)
    if not known or known[0] > end or known[-1] < end:
        raise ValueError(f"nothing came {'any more' if known and known[0] <= end else 'in time'}")
    gaps = ((before, after) for before, after in pairwise(known) if before <= end and after >= begin)
    return max(gaps, key=lambda pair: pair[1] - pair[0])


def rate(series: Series, begin: float, end: float) -> float:
    """Return the rate in bit/s."""
    if end <= begin:
        raise ValueError("an interval without length")
    return 8 * sum(count for at, count in series if begin <= at < end) / (end - begin)


def rtt(answered: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    """Return the median round trip in ms. Raises ValueError if no ping was answered."""
    found = [took for at, took in answered if begin <= at <= end]
    if not found:
        raise ValueError("no ping was answered")
    return median(found)
