"""`make soak-move`: one VM moves to and fro under load, over and over. Every byte of a stream over MPTCP is checked,
and memory and a disk are written all the time. After every move this checks both, and what the move has left behind at
either cloudlet and of addresses (`faults/census.py`)."""

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lab import work
from lab.errors import LabError
from lab.faults import census
from lab.guests.build import build
from lab.paths import GUESTS, LAB, ROOT
from lab.percentile import percentile
from lab.program import run
from lab.region import Region
from lab.rest import Json, Rest
from lab.throughput import STALL_MS, Series, stall

TOPOLOGY, THIN = ROOT / "lab/topologies/soak.yaml", ROOT / "lab/topologies/soak-thin.yaml"
ENDPOINTS = ("c2-lan", "c1-lan")
DOWN, UP = 1_000_000, 200_000
"""Bytes a second."""

WRITTEN = {"memory": ("start", "mib=32", "rate=2"), "disk": ("start", "mib=8", "rate=1")}
RTT_MS = 20.0
"""Milliseconds of the round trip between the two cloudlets."""

LEARNING = 5
"""Moves after which a prediction rests on past ones."""

SETTLED = 10.0
"""Seconds after a move within which both agents have checked their machines and reported their leases."""


@dataclass(frozen=True)
class Turn:
    """One move. Times are in seconds, `paused_ms` is the hypervisor's figure, and `stall_ms` is the longest time
    without a byte at the device during the move."""

    name: str
    state: str
    reason: str
    seconds: float
    paused_ms: float
    stall_ms: float
    serving: str


def main() -> int:
    """Run the soak test. Exit code 1: a connection or a byte was lost, an address or something else was left behind, a
    move did not end well, or the application had to wait too long."""
    parser = argparse.ArgumentParser(prog="make soak-move", description=__doc__)
    parser.add_argument("--moves", type=int, default=100, help="how many, one after the other [100]")
    parser.add_argument("--thin", action="store_true", help="over lines of 60 Mbit/s, by weft-transfer")
    parser.add_argument("--output", type=Path, default=Path("build/soak-move.json"), help="figures as JSON")
    arguments = parser.parse_args()
    build(GUESTS)
    region = Region.load(THIN if arguments.thin else TOPOLOGY)
    with region.occupied(), Rest(timeout=60) as rest:
        region.build(print)
        region.enrol(print)
        region.apply_policy(print)
        region.lease(print)
        region.boot(print)
        turns, verdict, wrong = soak(region, rest, arguments.moves)
        profiles = rest.items("/profiles")
    found = summary(turns, verdict, wrong) | predicted(profiles)
    arguments.output.write_text(json.dumps({**found, "moves": [asdict(turn) for turn in turns]}, indent=1) + "\n")
    for key, value in found.items():
        print(f"{key:28} {value}")
    return 0 if found["well"] else 1


def soak(region: Region, rest: Rest, moves: int) -> tuple[list[Turn], work.StreamVerdict, list[str]]:
    """Make the moves. Return them, the verdict on the connection, and the errors on the way."""
    wrong: list[str] = []
    before = census.take(region, rest)
    region.execute("m1", ["ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"], check=True)
    where = rest.get("/vms/v1")["address"]
    stream = work.Stream(region.namespace("m1"), where, LAB / "soak-move.csv", down=DOWN, up=UP)
    ended: list[tuple[Json, Json]] = []
    try:
        for what, words in WRITTEN.items():
            work.ask(region.namespace("m1"), where, (what, *words))
        for number in range(moves):
            move = _moved(rest, ENDPOINTS[number % 2])
            vm = rest.get("/vms/v1")
            ended.append((move, vm))
            print(f"{number + 1:4} {move['state']} to {move['destination']} after {move['seconds']:.1f} s", flush=True)
            for what in WRITTEN:
                checked = work.ask(region.namespace("m1"), vm["address"], [what, "verdict"])
                if checked["wrong"] or not checked["checked"]:
                    wrong.append(f"after {move['name']}: {what} {checked}")
            wrong += [f"after {move['name']}: {line}" for line in _left(region, rest, before, move)]
    finally:
        verdict = stream.verdict()
        series = stream.series()
    return [_turn(move, vm, series, verdict.began) for move, vm in ended], verdict, wrong


def _moved(rest: Rest, endpoint: str) -> Json:
    move = rest.post("/moves", {"vm": "v1", "endpoint": endpoint, "linger": 0})
    deadline = time.monotonic() + 300
    while move["ended_at"] is None:
        if time.monotonic() > deadline:
            raise LabError(f"{move['name']} is at {move['step']} after 300 s")
        time.sleep(0.2)
        move = rest.get(f"/moves/{move['name']}")
    return move


def _left(region: Region, rest: Rest, before: census.Census, move: Json) -> list[str]:
    """Return what a move has left behind that must not be there, at the latest `SETTLED` seconds after the move."""
    deadline = time.monotonic() + SETTLED
    while True:
        now = census.take(region, rest, move["name"])
        found = census.wrong(now, before, (move["source"], move["destination"])) + census.unneeded(now, before)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def _turn(move: Json, vm: Json, series: Series, began: float) -> Turn:
    start, end = (datetime.fromisoformat(move[key]).timestamp() - began for key in ("created_at", "ended_at"))
    waited = stall(series, start - 1, end + 1).seconds * 1000
    paused = move["figures"].get("switchover", {}).get("paused_ms") or 0.0
    return Turn(move["name"], move["state"], move["reason"], move["seconds"], paused, waited, vm["serving"])


def summary(turns: Sequence[Turn], verdict: work.StreamVerdict, wrong: Sequence[str]) -> dict[str, Any]:
    """Return the summary of the run."""
    beyond = [max(turn.stall_ms - turn.paused_ms, 0.0) for turn in turns]
    alternate = all(turn.serving == "ba"[number % 2] for number, turn in enumerate(turns))
    done = sum(turn.state == "done" and not turn.reason for turn in turns)
    sound = done == len(turns) and verdict.intact and verdict.mptcp and alternate and not wrong
    bar, waited = STALL_MS + RTT_MS, percentile(beyond, 99)
    return {
        "well": sound and waited < bar,
        "moves_done": f"{done} of {len(turns)}",
        "connection": "alive, every byte right" if verdict.intact else f"lost or wrong: {verdict}",
        "bytes_down_up": [verdict.device.received, verdict.device.sent],
        "roles_alternate": alternate,
        "wrong": list(wrong),
        "seconds_p50_p99": [percentile([turn.seconds for turn in turns], p) for p in (50, 99)],
        "paused_ms_p50_p99": [round(percentile([turn.paused_ms for turn in turns], p)) for p in (50, 99)],
        "stall_ms_p50_p99": [round(percentile([turn.stall_ms for turn in turns], p)) for p in (50, 99)],
        "beyond_pause_ms_p50_p99": [round(percentile(beyond, p)) for p in (50, 99)],
        "bar_beyond_pause_ms_p99": bar,
        "bar": "kept to" if waited < bar else f"missed: {waited:.0f} ms beyond the pause at p99, not below {bar:.0f}",
        "load_average": os.getloadavg()[0],
    }


def predicted(profiles: Sequence[Json]) -> dict[str, Any]:
    """Return how far off the predictions of the moves were, as parts of the time that copying took: the model's own
    prediction, and the one that was reported, which earlier moves correct. The first moves do not count, because there
    were none before to learn from."""
    known = sorted(profiles, key=lambda profile: str(profile["at"]))[LEARNING:]
    found = {}
    for what in ("model_seconds", "predicted_seconds"):
        off = [abs(one[what] - one["seconds"]) / one["seconds"] for one in known if one[what] is not None]
        found[f"{what.partition('_')[0]}_off_p50_p90"] = [round(percentile(off, p), 2) for p in (50, 90)] if off else []
    return found


if __name__ == "__main__":
    run(main)
