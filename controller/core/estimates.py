"""The known facts of a move before it is made, the source of each figure, and the estimate from them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.core.prediction import BUFFER_MS, Forecast, Load, Path, forecast
from controller.core.profiles import Correction, Error, Past, correction, error, typical

BANDWIDTH, DIRTY_RATE, DISK = 100e6, 1 << 20, 32 << 20
"""Assumed values of a link (bits per second), a machine (bytes written a second) and a disk (bytes that differ from the
shared base) that nobody has measured."""

FEWEST = 3
"""The fewest moves over a link from which its buffer is estimated."""


@dataclass(frozen=True)
class Profile:
    """A move that was made, as far as it was measured: the Past, and the figures that later estimates use. Bytes, bytes
    a second (`dirty_rate`), milliseconds; `ratio` is the bytes on the wire for one byte of memory, and `idle` the
    seconds in which the line had nothing to do. `kept`: both ends had a copy of that memory before; `direct`: it went
    without a thin line, as the link is fast."""

    past: Past
    vm: str
    memory_used: float | None = None
    dirty_rate: float | None = None
    disk: float | None = None
    ratio: float | None = None
    rtt_before_ms: float | None = None
    rtt_during_ms: float | None = None
    kept: bool = False
    direct: bool = False
    idle: float | None = None


@dataclass(frozen=True)
class Facts:
    """The recorded facts: the VM's image and size in bytes, whether it has a disk, the measurements of its driver; the
    link's round trip, and its bandwidth in bits per second there and, if need be, back; past moves of the image and
    over the link; the policy's target for the pause, and its limit on the bandwidth (`most`); whether both ends are to
    have a copy of the VM's memory from an earlier stay (`kept`), and whether the move is to go without a thin line
    (`direct`); the most rounds after which its driver pauses it in any case. None where unknown."""

    vm: str
    image: str
    memory: float
    has_disk: bool
    link: tuple[str, str]
    memory_used: float | None = None
    dirty_rate: float | None = None
    rtt_ms: float | None = None
    bandwidth: float | None = None
    bandwidth_back: float | None = None
    history: Sequence[Profile] = ()
    downtime_ms: float = 300.0
    most: float | None = None
    kept: bool = False
    direct: bool = False
    most_rounds: int | None = None


@dataclass(frozen=True)
class Input:
    """A figure and its source. `guessed`: nobody has measured it, and the time of the move depends on it."""

    value: float | None
    origin: str
    guessed: bool = False


@dataclass(frozen=True)
class Estimate:
    """`inputs` by name; the model's `forecast` from them, None without a round trip; `seconds` are the model's times
    the correction, None if the copy never ends or the round trip is unknown. `error`: how good past predictions
    were."""

    inputs: dict[str, Input]
    forecast: Forecast | None
    correction: Correction
    error: Error | None
    seconds: float | None

    @property
    def rtt_ms(self) -> float | None:
        """The round trip in milliseconds during the move."""
        return self.forecast.rtt_ms if self.forecast else None


def estimate(facts: Facts) -> Estimate:
    """Return the estimate of a move from all that is known of it."""
    past = [one.past for one in facts.history]
    inputs = _inputs(facts)
    found = correction(past, facts.image, facts.link)
    off = error([one for one in past if one.link == facts.link]) or error(past)
    rtt = inputs["rtt_ms"].value
    if rtt is None:
        return Estimate(inputs, None, found, off, None)
    given = {name: one.value or 0.0 for name, one in inputs.items()}
    plain = Load(given["memory"], given["dirty_rate"], given["disk"], given["ratio"], given["downtime_ms"])
    load = replace(plain, most_rounds=facts.most_rounds, idle=given.get("idle", 0.0))
    made = forecast(load, (Path(given["bandwidth"], rtt),), given["buffer_ms"])
    return Estimate(inputs, made, found, off, None if made.seconds is None else made.seconds * found.factor)


def wire_ratio(wire: float, memory: float, dirty_rate: float, seconds: float) -> float | None:
    """Return the bytes on the wire for one byte of memory in a move that was made: the inverse of the use in
    `forecast`. `wire` are the bytes of all rounds and the pause, `memory` those in use, `dirty_rate` those written a
    second during the `seconds` before the pause: memory that was written is sent again. None if nothing was sent, or no
    memory was in use."""
    sent = memory + dirty_rate * seconds
    return wire / sent if wire > 0 and memory > 0 else None


def _inputs(facts: Facts) -> dict[str, Input]:
    disk = _carried(facts, "disk", Input(DISK, "assumed", True))
    return {
        "memory": _measured(facts, "memory_used", Input(facts.memory, "all that it has: nobody has measured it", True)),
        "dirty_rate": _measured(facts, "dirty_rate", Input(DIRTY_RATE, "assumed", True)),
        "disk": disk if facts.has_disk else Input(0.0, "it has none"),
        "ratio": _carried(facts, "ratio", Input(1.0, "assumed: nothing is compressed", True)),
        "bandwidth": _bandwidth(facts),
        "rtt_ms": Input(facts.rtt_ms, "neighbour database" if facts.rtt_ms is not None else "nobody knows"),
        "buffer_ms": _buffer(facts),
        "downtime_ms": Input(facts.downtime_ms, "policy"),
        **({} if facts.most_rounds is None else {"idle": _remembered(facts, "idle", Input(0.0, "assumed", True))}),
    }


def _measured(facts: Facts, name: str, otherwise: Input) -> Input:
    value: float | None = getattr(facts, name)
    return _remembered(facts, name, otherwise) if value is None else Input(value, "measured by its driver")


def _remembered(facts: Facts, name: str, otherwise: Input) -> Input:
    """Return the typical value of past moves of this VM, or else of its image."""
    own = [getattr(one, name) for one in facts.history if one.vm == facts.vm]
    kind = [getattr(one, name) for one in facts.history if one.past.image == facts.image]
    for values, whose in ((own, "its own past moves"), (kind, f"past moves of {facts.image}")):
        if (value := typical(values)) is not None:
            return Input(value, whose)
    return otherwise


def _carried(facts: Facts, name: str, otherwise: Input) -> Input:
    """Return what past moves say of the bytes on the wire: those that went as this one is to go. If there was none, the
    plain moves over a thin line say the most that a move with copies at both ends sends, and nothing certain of one
    without a thin line."""
    plain = _of_kind(facts, name, otherwise, kept=False, direct=False)
    if not (facts.kept or facts.direct):
        return plain
    known = _of_kind(facts, name, plain, kept=facts.kept, direct=facts.direct)
    if known is not plain:
        how = "with copies at both ends" if facts.kept else "without a thin line"
        return replace(known, origin=f"{known.origin} {how}")
    return replace(plain, guessed=True) if facts.direct else plain


def _of_kind(facts: Facts, name: str, otherwise: Input, *, kept: bool, direct: bool) -> Input:
    alike = [one for one in facts.history if (one.kept, one.direct) == (kept, direct)]
    return _remembered(replace(facts, history=alike), name, otherwise)


def _bandwidth(facts: Facts) -> Input:
    known = _known_bandwidth(facts)
    return known if facts.most is None or (known.value or 0) <= facts.most else Input(facts.most, "policy")


def _known_bandwidth(facts: Facts) -> Input:
    for value, origin in ((facts.bandwidth, "past moves over the link"), (facts.bandwidth_back, "past moves back")):
        if value:
            return Input(value, origin)
    return Input(BANDWIDTH, "assumed", True)


def _buffer(facts: Facts) -> Input:
    """Return the milliseconds that a move adds to the round trip at most, as past moves over this link did."""
    added = [
        max(one.rtt_during_ms - one.rtt_before_ms, 0.0)
        for one in facts.history
        if one.past.link == facts.link and one.rtt_before_ms is not None and one.rtt_during_ms is not None
    ]
    measured = typical(added) if len(added) >= FEWEST else None
    return Input(BUFFER_MS, "assumed") if measured is None else Input(measured, "past moves over the link")
