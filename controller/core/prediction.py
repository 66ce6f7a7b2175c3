"""The prediction of a move: a model of pre-copy live migration over a WAN. Pure.

Memory is copied while the VM runs, in rounds: each sends the memory written during the previous one, and waits a round
trip for the other side to agree (CloudNet, section 3.2; Chaufournier, section 3.3). When the rest fits into the pause,
the VM is stopped and the rest is sent. The disk's delta goes first. The speed is bounded by the link, and by TCP's
window over the round trip (Teka, "Performance analysis and TCP"); several paths add up."""

from collections.abc import Iterator
from dataclasses import dataclass

WINDOW = 4 << 20
"""The most bytes in flight on a path: Linux' largest send buffer by default (ip-sysctl, tcp_wmem)."""

BUFFER_MS = 100.0
"""The longest delay in milliseconds that a full link adds to packets if it was not measured: the usual size of its
buffer."""

MOST_ROUNDS = 500
"""The most rounds: a copy that takes more is not worth waiting for and counts as one that never ends."""

SETUP_TRIPS = 4
"""Round trips before the first byte: connections are made, capabilities agreed on."""

THROTTLES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
"""Parts of the VM's CPU time that are withheld so that the copy catches up (QEMU's auto-converge: 20 % first, 10 % more
each time, 99 % at most)."""

TRIES = 2
"""Rounds at each throttle before the next one is used."""

SHRINKS = 0.7
"""The part of the round before that a round has at most, for a driver that pauses when rounds get no shorter."""


@dataclass(frozen=True)
class Path:
    """One path between the two cloudlets: bits per second that a copy gets, and the round trip without it."""

    bandwidth: float
    rtt_ms: float

    @property
    def window_ms(self) -> float:
        """Milliseconds that the link takes to send a whole window: the part beyond the round trip waits in the link's
        buffer."""
        return WINDOW * 8000 / self.bandwidth

    @property
    def rate(self) -> float:
        """Bytes per second of one TCP connection."""
        return min(self.bandwidth / 8, WINDOW * 1000 / self.rtt_ms) if self.rtt_ms else self.bandwidth / 8


@dataclass(frozen=True)
class Load:
    """The data to move. Bytes of memory in use, bytes on the wire for the disk, and bytes of memory written a second;
    `ratio` is the bytes on the wire for one byte of memory. `downtime_ms` is the target for the pause.
    `auto_converge`: the VM is slowed down if need be. `most_rounds`: its driver pauses it after so many, or when they
    get no shorter, and slows nothing down. `idle` are seconds in which the line has nothing to do. Raises ValueError
    for a value that is negative or not finite."""

    memory: float
    dirty_rate: float
    disk: float = 0.0
    ratio: float = 1.0
    downtime_ms: float = 300.0
    auto_converge: bool = True
    most_rounds: int | None = None
    idle: float = 0.0

    def __post_init__(self) -> None:
        for name in ("memory", "dirty_rate", "disk", "ratio", "downtime_ms", "idle"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is {getattr(self, name)}, and must be at least 0")


@dataclass(frozen=True)
class Forecast:
    """`converges`: the copy comes to an end, with `throttle` (0..1) of the VM's CPU time withheld; otherwise `rounds`
    is 0 and there are no times. `wire` in bytes, `rate` in bytes a second. `window_bound`: TCP's window limits the
    first path, not the link. `rtt_ms` is the round trip during the move."""

    converges: bool
    throttle: float
    rounds: int
    seconds: float | None
    paused_ms: float | None
    wire: float | None
    rate: float
    window_bound: bool
    rtt_ms: float


def forecast(load: Load, paths: tuple[Path, ...], buffer_ms: float = BUFFER_MS) -> Forecast:
    """Return the forecast of a move over these paths; the device's packets share the first one. `buffer_ms` is the
    longest wait of packets there when the link is full. Raises ValueError without a path, or for one without
    bandwidth."""
    if not paths or any(not (path.bandwidth > 0 and path.rtt_ms >= 0) for path in paths):
        raise ValueError("a move needs a path with a bandwidth above 0 and a round trip of at least 0")
    rate, trip = sum(path.rate for path in paths), paths[0].rtt_ms / 1000
    during = max(paths[0].rtt_ms, min(paths[0].window_ms, paths[0].rtt_ms + buffer_ms))
    bound = paths[0].window_ms < paths[0].rtt_ms
    copies = [copy for copy in _copies(load, rate, trip) if copy is not None]
    if not copies:
        return Forecast(False, 0.0, 0, None, None, None, rate, bound, during)
    best = min(copies, key=lambda copy: copy.seconds)
    before = SETUP_TRIPS * trip + load.disk / rate + load.idle
    seconds, wire = before + best.seconds, load.disk + best.wire
    return Forecast(True, best.throttle, best.rounds, seconds, 1000 * best.last, wire, rate, bound, during)


@dataclass(frozen=True)
class _Copy:
    throttle: float
    rounds: int
    seconds: float
    last: float
    wire: float


def _copies(load: Load, rate: float, trip: float) -> Iterator[_Copy | None]:
    """Yield the copy at each throttle, None where it does not come to an end. The hypervisor throttles step by step,
    and sends all memory anew in the meantime: the quickest copy is the one that takes place."""
    whole = load.memory * load.ratio / rate + trip
    slows = load.auto_converge and load.most_rounds is None
    for step, throttle in enumerate(THROTTLES if slows else THROTTLES[:1]):
        rounds = _rounds(load, rate, trip, load.dirty_rate * (1 - throttle))
        if rounds is None:
            yield None
            continue
        times = [amount * load.ratio / rate + trip for amount in rounds]
        wasted = TRIES * step
        wire = (sum(rounds) + wasted * load.memory) * load.ratio
        yield _Copy(throttle, len(rounds) - 1 + wasted, sum(times) + wasted * whole, times[-1], wire)


def _rounds(load: Load, rate: float, trip: float, dirty_rate: float) -> list[float] | None:
    """Return the bytes of memory sent in each round, the last of them during the pause; None if the copy never comes to
    that. No round has more than the whole memory, however long the previous one took."""

    amount, sent = load.memory, list[float]()
    while amount * load.ratio / rate > load.downtime_ms / 1000:
        sent.append(amount)
        amount = min(dirty_rate * (amount * load.ratio / rate + trip), load.memory)
        if load.most_rounds is not None and (len(sent) == load.most_rounds or amount > SHRINKS * sent[-1]):
            break
        if amount >= sent[-1] or len(sent) > MOST_ROUNDS:
            return None
    return [*sent, amount]
