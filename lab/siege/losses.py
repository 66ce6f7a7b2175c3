"""When pings were lost, and what had happened just before: that is where to look. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BEFORE, AFTER = 5.0, 1.0
"""Seconds before a loss from which events are named, and after it: an event is written down a moment late."""

MOST = 10
"""Events that are named with a loss."""


@dataclass(frozen=True)
class Happened:
    """An event at a Unix time."""

    at: float
    type: str
    subject: str


def losses(lost: Mapping[str, Sequence[float]], events: Sequence[Happened], began: float) -> list[str]:
    """A sentence for each loss, with seconds since the phase `began`. `lost`: Unix times, by who pings whom."""
    found = sorted((at, pair) for pair, times in lost.items() for at in times)
    return [f"{at - began:.1f} s: {pair}, {_near(at, events)}" for at, pair in found]


def _near(at: float, events: Sequence[Happened]) -> str:
    near = [event for event in events if -BEFORE <= event.at - at <= AFTER]
    said = [f"{event.type} {event.subject} {event.at - at:+.1f} s" for event in near[-MOST:]]
    return ("with " + ", ".join(said)) if said else "with no event"
