"""A device walks to another cloudlet and its container follows by itself, while another device's TCP connection with
the container goes on (Ma et al.)."""

import time
from dataclasses import dataclass
from ipaddress import ip_address

from lab import work
from lab.demo.stage import Stage
from lab.errors import LabError
from lab.paths import BUILD
from lab.rest import Json
from lab.throughput import stall
from lab.walk import walk

DEVICE, OTHER, CONTAINER, THERE = "m1", "m2", "k1", "c2"
DOWN, UP = 500_000, 100_000
"""Bytes a second of the other device's stream."""

MEMORY = ("memory", "start", "mib=32", "rate=1")
"""The order to the container to write to its memory meanwhile."""

AFTER = 4.0
"""Seconds of the stream after the container runs at the new cloudlet."""

FROZEN_MS = 1500.0
"""The pause, at most, of a service of 100 MB over 60 Mbit/s."""


@dataclass(frozen=True)
class Followed:
    """The observations. `before` and `after` are the container's record, `memory` is its check of its own memory in the
    end, and `stalled` the longest time in seconds without a byte of the stream."""

    device: str
    before: Json
    after: Json
    move: Json
    stream: work.StreamVerdict
    stalled: float
    memory: Json


def play(stage: Stage) -> None:
    """Let the container follow, and check what came of it."""
    stage.title(f"{OTHER} streams over TCP from container {CONTAINER}, whose device {DEVICE} walks to {THERE}")
    _judge(stage, _follow(stage))


def _follow(stage: Stage) -> Followed:
    region, rest = stage.region, stage.rest
    before = rest.get(f"/vms/{CONTAINER}")
    stage.note(f"{OTHER} streams from {CONTAINER} {before['address']}, {DOWN / 1e6:g} MB/s")
    work.ask(region.namespace(OTHER), before["address"], MEMORY)
    stream = work.Stream(region.namespace(OTHER), before["address"], BUILD / "demo-container.csv", down=DOWN, up=UP)
    try:
        time.sleep(2)
        stage.note(f"{DEVICE} walks")
        walk(region, DEVICE, THERE)
        move = _arrived(stage)
        time.sleep(AFTER)
        verdict, series = stream.verdict(), stream.series()
    finally:
        stream.kill()
    move, after = _ended(stage, move["name"]), rest.get(f"/vms/{CONTAINER}")
    device = region.execute(DEVICE, ["ip", "-4", "-br", "addr", "show", "dev", "eth0"], check=True).stdout.split()[2]
    memory = work.ask(region.namespace(OTHER), after["address"], ["memory", "verdict"])
    longest = stall(series, 0.0, verdict.seconds).seconds
    return Followed(device.split("/")[0], before, after, move, verdict, longest, memory)


def _arrived(stage: Stage, seconds: float = 180) -> Json:
    """Wait until the container runs at the new cloudlet, and return the move, which nobody asked for. It goes on for as
    long as a connection uses the old address."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for move in stage.rest.items("/moves", vm=CONTAINER):
            found: Json = stage.rest.get(f"/moves/{move['name']}")
            if any(step["step"] == "activate" and step["state"] == "done" for step in found["steps"]):
                return found
        time.sleep(0.2)
    raise LabError(f"{CONTAINER} has not followed {DEVICE} within {seconds:g} s")


def _ended(stage: Stage, move: str, seconds: float = 90) -> Json:
    deadline = time.monotonic() + seconds
    while (found := stage.rest.get(f"/moves/{move}"))["ended_at"] is None:
        if time.monotonic() > deadline:
            raise LabError(f"{move} has not ended within {seconds:g} s after its last connection")
        time.sleep(0.2)
    return dict(found)


def _judge(stage: Stage, seen: Followed) -> None:
    add, stream = stage.verdict.add, seen.stream
    figure = f"one TCP connection for {stream.seconds:.1f} s, {stream.device.received:,} bytes down, none missing"
    alive = stream.intact and not stream.mptcp
    add("TCP connection with the container alive", alive, figure if alive else f"{stream}")
    memory = seen.memory
    figure = f"{memory['pages']:,} pages, {memory['checked']:,} times looked at one, {memory['wrong']:,} times wrong"
    add("the container's memory right", memory["wrong"] == 0 and memory["checked"] > 0, figure)
    paired = int(ip_address(seen.after["address"])) == int(ip_address(seen.device)) + 1
    figure = f"at {seen.after['endpoint']} as {seen.after['address']} (was {seen.before['address']}), right above "
    done = seen.move["state"] == "done" and not seen.move["reason"] and seen.move["destination"] == THERE
    reason = f"; {seen.move['reason']}" if seen.move["reason"] else ""
    add(f"{CONTAINER} follows {DEVICE}", done and paired, f"{figure}{DEVICE}'s {seen.device}{reason}")
    took = {step["step"]: step["seconds"] for step in seen.move["steps"] if not step["undoing"]}
    paused = seen.move["figures"].get("switchover", {}).get("paused_ms") or 0.0
    frozen = paused + 1000 * (took.get("activate") or 0.0)
    wire = (seen.move["figures"].get("memory", {}).get("wire") or 0) / 1e6
    figure = (
        f"{frozen:.0f} ms until it ran there, the stream waited for {seen.stalled * 1000:.0f} ms; {wire:.1f} MB before"
    )
    ok = 0 < frozen < FROZEN_MS
    add("the container was frozen", ok, figure, frozen_ms=frozen, stall_ms=seen.stalled * 1000, steps=took)
