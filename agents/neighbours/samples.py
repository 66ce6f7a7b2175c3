"""The statistics of the echoes of one round. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from controller.wire.neighbours import Method


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a round. Times are round trips in milliseconds, None if no echo came back. `jitter_ms` is the mean
    difference between one echo that came back and the next (RFC 3393 defines the variation between selected packets),
    and 0 for one."""

    method: Method
    sent: int
    received: int
    min_ms: float | None = None
    median_ms: float | None = None
    p95_ms: float | None = None
    jitter_ms: float | None = None


def summary(method: Method, samples: Sequence[float | None]) -> Round:
    """Return the result of a round. None is an echo that did not come back."""
    back = [sample for sample in samples if sample is not None]
    if not back:
        return Round(method, len(samples), 0)
    ordered = sorted(back)
    jitter = fmean(abs(b - a) for a, b in pairwise(back)) if len(back) > 1 else 0.0
    return Round(
        method=method,
        sent=len(samples),
        received=len(back),
        min_ms=_rounded(ordered[0]),
        median_ms=_rounded(median(ordered)),
        p95_ms=_rounded(ordered[(95 * len(ordered) + 99) // 100 - 1]),
        jitter_ms=_rounded(jitter),
    )


def _rounded(ms: float) -> float:
    """Return the time in milliseconds, rounded to a microsecond: no clock here is better."""
    return round(ms, 3)
