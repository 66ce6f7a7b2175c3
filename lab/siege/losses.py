"""The times at which pings were lost, with the events just before, which point to the cause. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BEFORE, AFTER = 5.0, 1.0
"""Seconds before a loss from which events are named, and seconds after it, because events are recorded a moment
late."""

MOST = 10
"""Most events that are named with a loss."""


@dataclass(frozen=True)
class Happened:
    """An event at a Unix time."""

    at: float
    type: str
    subject: str


def losses(lost: Mapping[str, Sequence[float]], events: Sequence[Happened], began: float) -> list[str]:
    """Return a sentence for each loss, with seconds since the phase `began`. `lost` has Unix times, by source and
    target."""
    found = sorted((at, pair) for pair, times in lost.items() for at in times)
    return [f"{at - began:.1f} s: {pair}, {_near(at, events)}" for at, pair in found]


def _near(at: float, events: Sequence[Happened]) -> str:
    near = [event for event in events if -BEFORE <= event.at - at <= AFTER]
    said = [f"{event.type} {event.subject} {event.at - at:+.1f} s" for event in near[-MOST:]]
    return ("with " + ", ".join(said)) if said else "with no event"
