"""One move, measured: the application streams, both addresses are pinged, and the guest's memory is written. The stream
and the memory are checked in the end."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from lab import netns, work
from lab.bench_move.cases import DOWN, UP, WORKING, WRITTEN
from lab.bench_move.figures import Figures, Moved, Seen, Series, figures, rate
from lab.errors import LabError
from lab.ping import PingResult, PingStream
from lab.plan import Plan
from lab.region import Region

PING = 0.01
"""Seconds between two pings, as Teka's."""

_SETTLE = 3.0  # seconds for which all goes on before and after a move
_PROBE, _WARM = 4.0, 1.0  # seconds of a stream at full speed, and of those until it is fast


class Scene(Protocol):
    """A guest at c1 whose device is at c2, and one way to move it there. `old` is its address, `new` the one that it
    gets, if any, and `now` the one to connect to."""

    region: Region
    old: str
    new: str | None

    @property
    def now(self) -> str: ...

    def move(self) -> Moved: ...


def trial(scene: Scene, folder: Path) -> Figures:
    """Measure one move. Raises LabError if a byte of stream or memory was lost or wrong."""
    device = scene.region.namespace("m1")
    work.ask(device, scene.old, ["memory", "start", f"mib={WORKING}", f"rate={WRITTEN}"])
    before = full_speed(device, scene.old, folder / "before.csv")
    stream = work.Stream(device, scene.old, folder / "stream.csv", down=DOWN, up=UP)
    pings = [PingStream(scene.region.node("m1"), scene.old, PING)]
    if scene.new:
        # Not from the device: its own ARP would fail while nobody has the address, and a join that the device begins
        # at such a moment fails too.
        pings.append(PingStream("c2", scene.new, PING))
    try:
        time.sleep(_SETTLE)
        sent = wan_bytes(scene.region.plan)
        moved = scene.move()
        sent = wan_bytes(scene.region.plan) - sent
        time.sleep(_SETTLE)
        answered = [ping.stop() for ping in pings]
        verdict = stream.verdict()
    finally:
        stream.kill()
        for ping in pings:
            with ping:
                pass
    if not verdict.intact:
        raise LabError(f"the connection did not survive as it was: {verdict}")
    if (checked := work.ask(device, scene.now, ["memory", "verdict"])).get("wrong"):
        raise LabError(f"the guest's memory was corrupted: {checked}")
    after = full_speed(device, scene.now, folder / "after.csv")
    series = [(verdict.began + at, count) for at, count in stream.series()]
    old, new = replies(answered[0]), replies(answered[1]) if scene.new else []
    return figures(moved, Seen(old, new, series, sent, before, after))


def replies(result: PingResult) -> list[tuple[float, float]]:
    return [(reply.at, reply.rtt_ms) for reply in result.replies]


def full_speed(namespace: str, address: str, record: Path) -> float:
    """Return the bit/s of the guest's stream, without its slow start."""
    stream = work.Stream(namespace, address, record, down=-1, seconds=_PROBE)
    try:
        time.sleep(_PROBE)
        verdict = stream.verdict(60)
    finally:
        stream.kill()
    if verdict.error:
        raise LabError(f"a stream from {address} broke off: {verdict.error}")
    series: Series = stream.series()
    return rate(series, _WARM, _PROBE)


def wan_bytes(plan: Plan) -> int:
    """Return the bytes that c1 has sent into the WAN, over all paths."""
    ports = [port.name for line in plan.lines for port in (line.a, line.b) if port.node == "c1"]
    return sum(_sent(port) for port in ports)


def _sent(port: str) -> int:
    words: Sequence[str] = ["cat", f"/sys/class/net/{port}/statistics/tx_bytes"]
    return int(netns.execute(f"{netns.PREFIX}c1", words, check=True).stdout)
