"""The bytes that a device received while it walked and its VM followed: rates, stalls, and the slots of Teka's figure
9. Pure.

Times are seconds since the stream began.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

Series = Sequence[tuple[float, float]]
"""The times at which bytes came, and how many: slots of 10 ms, without those in which none came (lab/work.py)."""

STALL_MS = 300.0
"""Milliseconds that an application may wait beyond the hypervisor's own pause and one round trip between the
cloudlets."""


@dataclass(frozen=True)
class Span:
    """A stretch of time with a name: a slot of the figure, or a step of a move."""

    name: str
    began: float
    ended: float
    about: str = ""

    @property
    def seconds(self) -> float:
        return self.ended - self.began


def rates(series: Series, seconds: float, width: float) -> list[float]:
    """Return the Mbit/s in every `width` seconds from the beginning on, including those without a byte."""
    received = [0.0] * max(1, round(seconds / width))
    for at, count in series:
        if (number := int(at / width + 1e-6)) < len(received):
            received[number] += count
    return [count * 8 / width / 1e6 for count in received]


def stall(series: Series, began: float, ended: float) -> Span:
    """Return the longest time without a byte that overlaps `began` to `ended`; one of no length if no byte came before
    it or none after."""
    gaps = [
        Span("stall", before, after)
        for before, after in pairwise(at for at, _ in series)
        if before < ended and after > began
    ]
    return max(gaps, key=lambda gap: gap.seconds, default=Span("stall", began, began))


def slots(series: Series, seconds: float, *, lost: float, back: float, stopped: float, runs: float) -> list[Span]:
    """Return the slots A to E (Teka, figure 9) of a stream of `seconds`. The device's link was `lost` and came `back`.
    The VM was `stopped` at the source and `runs` at the destination, according to the controller. B and D end when
    bytes arrive again, so both include the time that the connection needs to recover."""
    first = next((at for at, _ in series if at >= back), seconds)
    pause = stall([(at, count) for at, count in series if at >= first], stopped, runs)
    if not pause.seconds:
        pause = Span("no pause", max(first, min(stopped, seconds)), max(first, min(stopped, seconds)))
    return [
        Span("A", 0.0, lost, "device and VM side by side"),
        Span("B", lost, first, "device walks: no link, then a new address"),
        Span("C", first, pause.began, "VM is reached over the WAN, its memory is copied"),
        Span("D", pause.began, pause.ended, "VM is paused and goes on at the destination"),
        Span("E", pause.ended, seconds, "side by side again, at the VM's new address"),
    ]


def steps(move: Mapping[str, Any], began: float) -> list[Span]:
    """Return the steps that a move took, from the answer to `GET /moves/{name}`, for a stream that `began` at a Unix
    time. The step `normal`, at which the move is over, is left out."""
    return [
        Span(
            f"undo: {step['step']}" if step["undoing"] else step["step"],
            datetime.fromisoformat(step["began_at"]).timestamp() - began,
            datetime.fromisoformat(step["ended_at"]).timestamp() - began,
            step["detail"],
        )
        for step in move["steps"]
        if step["ended_at"] is not None and step["state"] != "skipped" and step["step"] != "normal"
    ]
