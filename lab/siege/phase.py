"""One phase of the siege, or the time before it: attackers and legitimate users for so many seconds."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime

from lab.paths import LAB
from lab.percentile import percentile
from lab.ping import PingResult
from lab.rest import Json
from lab.siege import figures
from lab.siege.attack import Attack, program
from lab.siege.bed import GOOD, PE, PINGS, STRANGERS, Bed
from lab.siege.figures import Figures, Pings
from lab.siege.gauges import Gauges
from lab.siege.life import Life
from lab.siege.losses import Happened, losses
from lab.siege.meanwhile import meanwhile
from lab.siege.verdict import PROBES

DATABASE = LAB / "controller" / "weft.db"
INTERVAL = 0.1
"""Seconds between two pings of a device."""

SETTLED = 5.0
"""Seconds after which the list has the events of all that happened."""

DOWN = "session-down"
"""The event of a BGP session that ended."""


def measure(bed: Bed, seconds: float, attacks: Sequence[tuple[str, str, Sequence[str]]], token: str) -> Figures:
    """Run a phase and return its figures. `attacks` has the name, node and command line of each; `token` is the
    operator's."""
    since = _latest(bed)
    database = _database()
    running = {name: process for name, process in bed.region.processes.items() if process.alive()}
    with ExitStack() as stack:
        started = [stack.enter_context(Attack(*one)) for one in attacks]
        people = stack.enter_context(Attack("callers", STRANGERS, program("callers", _callers(bed, token)), nice="0"))
        streams = {
            f"{source} to {target}": stack.enter_context(bed.region.ping(source, bed.region.address(target), INTERVAL))
            for source, target in PINGS
        }
        began, at = time.monotonic(), time.time()
        gauges, life = Gauges(running), Life(bed.region)
        with meanwhile(gauges.sample), meanwhile(life.live):
            time.sleep(seconds)
        results = {pair: stream.stop() for pair, stream in streams.items()}
        took = time.monotonic() - began
        asked = people.end(60)
        gone = [one.name for one in started if not one.runs]
        done = {one.name: one.counted() for one in started}
    time.sleep(SETTLED)
    happened = _events(bed, since)
    leased = {str(lease["mac"]) for lease in bed.rest.items("/leases")}
    found = gauges.found()
    return Figures(
        seconds=took,
        pings={pair: Pings(one.sent, one.lost, _p99(one)) for pair, one in results.items()},
        calls={name: figures.calls(some) for name, some in asked.items()},
        joins=figures.calls([(0.0, seconds, 200) for seconds in life.seconds]),
        gauges=found,
        load=gauges.load,
        deeds=len(life.deeds) + len(life.leased),
        losses=losses({pair: one.lost_at for pair, one in results.items()}, [_happened(one) for one in happened], at),
        missing=figures.missing(life.deeds, [(one["type"], one["subject"]) for one in happened]),
        failed=life.failed,
        leases=len(life.leased),
        unleased=[mac for mac in life.leased if mac not in leased],
        resets=[one["text"] for one in happened if one["type"] == DOWN and one["subject"] != PE],
        events=dict(Counter(one["type"] for one in happened).most_common()),
        database=_database() - database,
        attacks=done,
        gone=gone,
    )


def _callers(bed: Bed, token: str) -> str:
    """Write the file that lists the callers and their requests, and return its path."""
    plain, tls = f"http://{bed.controller}:{bed.plain}/api/v1", f"https://{bed.controller}:{bed.tls}/api/v1"
    lines = [
        {
            "name": "an operator",
            "base": plain,
            "token": token,
            "identity": "",
            "requests": [
                ("GET", "/cloudlets", None),
                ("GET", "/vcps", None),
                ("GET", "/events?limit=20", None),
                ("GET", "/leases?limit=20", None),
            ],
        },
        *(
            {
                "name": name,
                "base": tls,
                "token": bed.credential(GOOD),
                "identity": str(bed.state(GOOD) / "identity"),
                "requests": [("POST", f"/agent/{route}", body)],
            }
            for name, route, body in (
                ("an agent", "sightings", {"cloudlet": GOOD, "sightings": []}),
                (PROBES, "neighbours", {"cloudlet": GOOD, "run": "siege", "measurements": []}),
            )
        ),
    ]
    path = LAB / "siege.callers"
    path.touch(mode=0o600)
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return str(path)


def _p99(pings: PingResult) -> float:
    return percentile([reply.rtt_ms for reply in pings.replies] or [0.0], 99)


def _happened(event: Json) -> Happened:
    return Happened(datetime.fromisoformat(event["at"]).timestamp(), event["type"], event["subject"])


def _latest(bed: Bed) -> int:
    """Return the id of the latest event."""
    found = _events(bed, 0)
    return int(found[-1]["id"]) if found else 0


def _events(bed: Bed, after: int) -> list[Json]:
    """Return all events after one, page after page."""
    found: list[Json] = []
    while True:
        page = bed.rest.get("/events", after=str(after), limit="1000")
        found += page["items"]
        if not page["next"]:
            return found
        after = int(page["next"])


def _database() -> int:
    """Return the bytes of the controller's database, including those that are not yet in its main file."""
    return sum(path.stat().st_size for path in DATABASE.parent.glob(f"{DATABASE.name}*"))
