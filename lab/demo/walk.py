"""A device streams, walks to another cloudlet without its connection breaking, and its VM follows by itself."""

import time
from dataclasses import dataclass
from ipaddress import ip_address

from lab import chart, plot, work
from lab.capture import Frame
from lab.demo.stage import Stage
from lab.errors import LabError
from lab.paths import BUILD
from lab.rest import Json
from lab.throughput import STALL_MS, Series, Span, rates, slots, stall, steps
from lab.walk import lose, take_connections_along, walk

DEVICE, VM, THERE = "m1", "v1", "c2"
DOWN, UP = 2_000_000, 200_000
"""Bytes a second."""

MEMORY = ("memory", "start", "mib=16", "rate=1")
"""The order to the VM to write to its memory meanwhile: little, so that its move takes no longer."""

BEFORE, AWAY, AFTER = 4.0, 5.0, 4.0
"""Seconds that the device is beside its VM, without a link (as in Teka's figure 9), and at the new cloudlet after the
move."""

BIN = 0.2
"""Seconds over which the figure shows the mean."""

TEKA_SECONDS, TEKA_STALL = 14.0, 3.0
"""Seconds of a move at 350 Mbit/s and 20 ms, and seconds that the application waited for the VM (Teka, figure 9)."""


@dataclass(frozen=True)
class Walk:
    """The observations of the walk. `lost`, `back` and `addressed` (the device has its new address) are Unix times.
    `joins` are the frames with MP_JOIN that a capture at the new cloudlet saw. `before` and `after` are the VM's
    record. `memory` is the VM's check of its own memory in the end."""

    lost: float
    back: float
    addressed: float
    device: str
    before: Json
    after: Json
    move: Json
    joins: list[Frame]
    stream: work.StreamVerdict
    series: Series
    memory: Json


def play(stage: Stage) -> None:
    """Do the walk, then show its figure and check it."""
    stage.title(f"{DEVICE} streams over MPTCP, walks to {THERE}, and {VM} follows")
    seen = _walk(stage)
    _show(stage, seen)
    _judge(stage, seen)


def _walk(stage: Stage) -> Walk:
    region, rest = stage.region, stage.rest
    region.execute(DEVICE, ["ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"], check=True)
    before = rest.get(f"/vms/{VM}")
    stage.note(f"{DEVICE} {region.address(DEVICE)} streams from {VM} {before['address']}, {DOWN / 1e6:g} MB/s")
    work.ask(region.namespace(DEVICE), before["address"], MEMORY)
    capture = region.capture(THERE, "tcp[tcpflags] & tcp-syn != 0", "lan1")
    stream = work.Stream(region.namespace(DEVICE), before["address"], BUILD / "demo-walk.csv", down=DOWN, up=UP)
    try:
        _flowing(stream)
        time.sleep(BEFORE)
        stage.note(f"{DEVICE} walks: no link for {AWAY:g} s")
        lost = time.time()
        lose(region, DEVICE)
        time.sleep(AWAY)
        back = time.time()
        walk(region, DEVICE, THERE)
        device = take_connections_along(region, DEVICE, region.address(DEVICE))
        addressed = time.time()
        stage.note(f"{DEVICE} is at {THERE} as {device}, and its connection with it")
        move = _followed(stage)
        time.sleep(AFTER)
        verdict = stream.verdict()
        joins = [frame for frame in capture.stop() if "mptcp" in frame.text and "join" in frame.text]
    finally:
        stream.kill()
        capture.close()
    after = rest.get(f"/vms/{VM}")
    memory = work.ask(region.namespace(DEVICE), after["address"], ["memory", "verdict"])
    return Walk(lost, back, addressed, device, before, after, move, joins, verdict, stream.series(), memory)


def _flowing(stream: work.Stream, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not stream.series():
        if time.monotonic() > deadline or not stream.runs:
            raise LabError(f"{DEVICE} has not got a byte of {VM} within {seconds:g} s")
        time.sleep(0.05)


def _followed(stage: Stage, seconds: float = 180) -> Json:
    """Wait for the move that nobody asked for, and return it when it has ended."""
    deadline = time.monotonic() + seconds
    told = ""
    while not (found := stage.rest.items("/moves", vm=VM)) or found[0]["ended_at"] is None:
        if found and not told:
            told = found[0]["name"]
            stage.note(f"{told} of {VM} from {found[0]['source']} to {found[0]['destination']} has begun by itself")
        if time.monotonic() > deadline:
            where = stage.rest.get(f"/devices/{DEVICE}")["place"]
            raise LabError(
                f"{VM} has not followed {DEVICE} within {seconds:g} s: {told or f'no move; {DEVICE} {where}'}"
            )
        time.sleep(0.2)
    return stage.rest.get(f"/moves/{found[0]['name']}")


def _show(stage: Stage, seen: Walk) -> None:
    """Show the figure in the terminal and write it to files, with every step of the move."""
    seconds, began = seen.stream.seconds, seen.stream.began
    taken = steps(seen.move, began)
    parts = _slots(seen, taken)
    curve = rates(seen.series, seconds, BIN)
    for line in chart.throughput(curve, parts, seconds):
        stage.note(line)
    for slot in parts:
        stage.note(f"{slot.name} {slot.seconds:5.1f} s  {slot.about}")
    stage.note("")
    for line in chart.timeline(taken):
        stage.note(line)
    subtitle = (
        f"One MPTCP connection, {DOWN * 8 / 1e6:g} Mbit/s; a WAN of 350 Mbit/s and 20 ms; slots as in Teka, figure 9"
    )
    title = f"{DEVICE} walks to {THERE}, and its VM follows"
    for path in plot.throughput(BUILD / "demo-walk", title, curve, parts, taken, seconds=seconds, subtitle=subtitle):
        stage.note(f"written: {path.relative_to(BUILD.parent)}")


def _slots(seen: Walk, taken: list[Span]) -> list[Span]:
    """Return the slots A to E. Without a pause, everything after the walk is C."""
    began = seen.stream.began
    at = {step.name: step for step in taken}
    end = seen.stream.seconds
    return slots(
        seen.series,
        end,
        lost=seen.lost - began,
        back=seen.back - began,
        stopped=at["switchover"].began if "switchover" in at else end,
        runs=at["activate"].ended if "activate" in at else end,
    )


def _judge(stage: Stage, seen: Walk) -> None:
    add, stream, move = stage.verdict.add, seen.stream, seen.move
    alive = stream.error is None and stream.mptcp and stream.guest is not None
    how = f"{stream.seconds:.1f} s, {stream.subflows} subflows at the end"
    add("connection alive", alive, f"one MPTCP connection for {how}" if alive else f"{stream.error}, {how}")
    guest = stream.guest.received if stream.guest else 0
    figure = f"{stream.device.received:,} down and {guest:,} up, none missing" + (
        "" if stream.intact else f"; or so: {stream}"
    )
    add("all bytes right", stream.intact, figure)
    memory = seen.memory
    figure = f"{memory['pages']:,} pages, {memory['checked']:,} times looked at one, {memory['wrong']:,} times wrong"
    add("memory right", memory["wrong"] == 0 and memory["checked"] > 0, figure)
    address = ip_address(seen.after["address"])
    paired = int(address) % 2 == 1 and int(address) == int(ip_address(seen.device)) + 1
    add(
        f"{VM} follows {DEVICE}",
        move["state"] == "done" and not move["reason"] and paired and move["destination"] == THERE,
        f"at {seen.after['endpoint']} as {address} (was {seen.before['address']}), right above {DEVICE}'s {seen.device}"
        + (f"; {move['reason']}" if move["reason"] else ""),
    )
    roles = seen.before["serving"], seen.after["serving"]
    add("vNICs change roles", set(roles) == {"a", "b"}, f"{roles[0]} served, {roles[1]} serves")
    _judge_join(stage, seen)
    _judge_stall(stage, seen)
    took = {step["step"]: step["seconds"] for step in move["steps"] if not step["undoing"]}
    figure = f"{move['seconds']:.1f} s, of which memory {took.get('memory') or 0:.1f} s (Teka: {TEKA_SECONDS:g} s)"
    add("move", move["state"] == "done", figure, seconds=move["seconds"], steps=took)


def _judge_join(stage: Stage, seen: Walk) -> None:
    """Check the join by the capture, beside the agent's report (the step `join`)."""
    wanted = f"IP {seen.device}.", f"> {seen.after['address']}."
    found = [frame.at for frame in seen.joins if all(text in frame.text for text in wanted)]
    step = next((step for step in seen.move["steps"] if step["step"] == "join"), None)
    done = step is not None and step["state"] == "done"
    when = f"{found[0] - seen.stream.began:.1f} s" if found else "never"
    figure = f"{seen.device} → {seen.after['address']} on {THERE}'s LAN at {when}"
    stage.verdict.add("MP_JOIN seen", bool(found) and done, figure + ("" if done else "; the agent did not see it"))


def _judge_stall(stage: Stage, seen: Walk) -> None:
    """Check the application's longest wait once bytes came again, beside the hypervisor's pause. `make soak-move` tells
    over many moves whether the target is met: two busy cores that emulate two VMs can miss it."""
    since = next((at for at, _ in seen.series if at >= seen.back - seen.stream.began), seen.stream.seconds)
    arrivals = [(at, count) for at, count in seen.series if at >= since]
    longest = stall(arrivals, since, seen.stream.seconds).seconds * 1000
    paused = seen.move["figures"].get("switchover", {}).get("paused_ms") or 0.0
    aim = STALL_MS + 2 * stage.region.plan.delay_ms(seen.move["source"], THERE)
    figure = (
        f"{longest:.0f} ms, {paused:.0f} ms of it the hypervisor's own pause (Teka: {TEKA_STALL:g} s); "
        f"{max(longest - paused, 0):.0f} ms beyond it, {aim:.0f} ms aimed at"
    )
    ok = 0 < longest < TEKA_STALL * 1000
    stage.verdict.add("longest stall of the move", ok, figure, stall_ms=longest, paused_ms=paused, aim_ms=aim)
