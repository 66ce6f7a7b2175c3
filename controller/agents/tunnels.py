"""Encrypted tunnels: agents' reports on them, written to the database, and alarms about tunnels that are missing.
Reports do not wait for the database: an agent repeats all of it after half a minute at the latest."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from controller.core.clock import now
from controller.core.event_budget import of_cloudlet, of_tunnel
from controller.core.intent import Intent
from controller.core.tunnels import turns
from controller.db import events
from controller.db import tunnels as table
from controller.db.engine import Database
from controller.runtime.event_log import EventLog
from controller.runtime.metrics import Metrics
from controller.wire.tunnels import Ipsec

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds in which further reports join a transaction."""

AT_ONCE = 20
"""Most cloudlets in one transaction."""

QUIET = 600.0
"""Seconds between two events about packets that the guard of the same cloudlet drops."""

CLEAN = 12
"""Number of sweeps from one removal of rows of deleted cloudlets to the next."""

EVENTS = {"down": "tunnel-down", "up": "tunnel-up", "unneeded": "tunnel-unneeded"}
_COUNTED = ("bytes", "packets")


class Tunnels:
    """Takes in agents' reports (`take`, `run`) on every controller, and raises alarms (`sweep`) on one."""

    def __init__(self, database: Database, intent: Callable[[], Intent], event_log: EventLog, metrics: Metrics) -> None:
        self._database, self._intent, self._event_log, self._metrics = database, intent, event_log, metrics
        self._last: dict[str, Ipsec | None] = {}
        self._waiting: dict[str, tuple[datetime, Ipsec | None]] = {}
        self._work, self._writing = asyncio.Event(), asyncio.Lock()
        self._dropped: dict[str, tuple[float, int, int]] = {}  # time of the last event, and drops after it
        self._turn = 0

    def take(self, cloudlet: str, ipsec: Ipsec | None) -> None:
        """Take in a cloudlet's report on its tunnels; it is written soon."""
        before = self._last.get(cloudlet)
        if ipsec is None and before is None and cloudlet in self._last:
            return
        self._last[cloudlet] = ipsec
        self._waiting[cloudlet] = now(), ipsec
        self._work.set()
        if ipsec is not None and before is not None:
            self._count(before, ipsec)
            self._tell_dropped(cloudlet, before, ipsec)

    def _count(self, before: Ipsec, ipsec: Ipsec) -> None:
        known = {tunnel.cloudlet: tunnel for tunnel in before.tunnels}
        for tunnel in ipsec.tunnels:
            was = known.get(tunnel.cloudlet)
            for what in _COUNTED:
                for way in ("in", "out"):
                    name = f"{what}_{way}"
                    grown = _grown(getattr(was, name) if was is not None else None, getattr(tunnel, name))
                    self._metrics.tunnel_traffic[what].labels(way).inc(grown)

    def _tell_dropped(self, cloudlet: str, before: Ipsec, ipsec: Ipsec) -> None:
        """Count the packets that the guard has dropped, and note an event: the first time, and again after QUIET
        seconds."""
        into, out = _grown(before.dropped_in, ipsec.dropped_in), _grown(before.dropped_out, ipsec.dropped_out)
        self._metrics.tunnel_dropped.labels("in").inc(into)
        self._metrics.tunnel_dropped.labels("out").inc(out)
        at = time.monotonic()
        told, more_in, more_out = self._dropped.get(cloudlet, (-QUIET, 0, 0))
        into, out = into + more_in, out + more_out
        if not into and not out:
            return
        if at < told + QUIET:
            self._dropped[cloudlet] = told, into, out
            return
        self._dropped[cloudlet] = at, 0, 0
        known = {tunnel.cloudlet: tunnel for tunnel in before.tunnels}
        peers = sorted(
            tunnel.cloudlet
            for tunnel in ipsec.tunnels
            if (was := known.get(tunnel.cloudlet))
            and (tunnel.dropped_in, tunnel.dropped_out) != (was.dropped_in, was.dropped_out)
        )
        text = f"{cloudlet}: VXLAN in the clear was dropped: {out} packets that were to leave, {into} that came"
        data = {"out": out, "in": into, "peers": peers}
        self._event_log.note("plaintext-dropped", cloudlet, text, caused_by=of_cloudlet(cloudlet), **data)

    async def run(self) -> None:
        """Write reports until cancelled."""
        while True:
            await self._work.wait()
            await asyncio.sleep(PAUSE)
            await self.flush()

    async def flush(self) -> None:
        """Write the reports that wait, after those that are being written. Agents repeat the reports that cannot be
        written."""
        async with self._writing:
            self._work.clear()
            waiting, self._waiting = self._waiting, {}
            there = self._intent().cloudlets.keys()
            for some in _portions(waiting):
                try:
                    async with self._database.write() as session:
                        await table.save(session, some, there)
                except Exception:  # the next report may be written
                    log.exception("tunnels of %d cloudlets", len(some))

    async def sweep(self) -> None:
        """Raise alarms and end them, and now and then delete the rows of deleted cloudlets. One controller of a region
        runs this, every few seconds."""
        intent, at = self._intent(), now()
        async with self._database.read() as session:
            for state, number in (await table.counts(session)).items():
                self._metrics.tunnels.labels(state).set(number)
            raised = await table.alarms(session)
            turned = list(turns(intent, await table.words(session, raised), raised, at))
            gone = await table.named(session) - intent.cloudlets.keys() if self._turn % CLEAN == 0 else set()
        self._turn += 1
        if turned or gone:
            async with self._database.write() as session:
                for turn in turned:
                    one, other = turn.pair
                    if turn.what == "down":
                        await table.raise_(session, turn.pair, turn.since)
                    else:
                        await table.clear(session, turn.pair)
                    data = {"cloudlets": [one, other], "since": turn.since.isoformat()}
                    await events.add(
                        session, EVENTS[turn.what], f"{one} {other}", turn.text, caused_by=of_tunnel(one, other), **data
                    )
                await table.forget(session, gone)
            self._event_log.wakeup.ring()
        self._metrics.tunnel_alarms.set(len(raised) + sum(1 if t.what == "down" else -1 for t in turned))


def _grown(before: int | None, after: int) -> int:
    """Return by how much a counter has grown; its whole value if the tunnel is new or its counter began anew."""
    return after - before if before is not None and after >= before else after


def _portions(
    waiting: dict[str, tuple[datetime, Ipsec | None]],
) -> Iterator[dict[str, tuple[datetime, Ipsec | None]]]:
    rest = iter(waiting.items())
    while some := dict(islice(rest, AT_ONCE)):
        yield some
