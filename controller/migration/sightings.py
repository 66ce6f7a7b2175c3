"""Sightings of devices: written to the database, and acted on.

Every controller takes in agents' reports. The leader decides when a device is taken to be elsewhere, once, in the
transaction that records it, and then calls `seen`. If the leader dies in between, its successor calls `seen` for every
device that is not where its VM is. So `seen` may be called twice for the same place, but is never left out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.event_budget import of_endpoint
from controller.core.intent import Intent
from controller.core.names import printable
from controller.core.refusals import invalid
from controller.core.sighting_evidence import Lease, Witnesses, Worth, follows
from controller.core.sightings import DevicePlace, see, settles_at
from controller.db import events
from controller.db import sightings as table
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.leases.suspicions import Suspicions
from controller.replication.replicas import Replicas
from controller.runtime.metrics import Metrics
from controller.runtime.wakeup import Wakeup
from controller.wire.sightings import How, Sighting, SightingReport

log = logging.getLogger(__name__)

KIND = "sightings"

PATIENCE = 30.0
"""Seconds for which a sighting waits for the agent's account of the lease, which comes in another request."""

AGAIN = 0.2
"""Seconds between two checks whether it has come."""

MOST_WAITING = 5000
"""Most sightings that wait. Others are dropped; the renewal of the lease brings them again."""

LOOK = 5.0
"""Seconds after which the leader looks at all unsettled devices, even without news."""

AT_ONCE = 200
"""Most devices that settle in one transaction."""


@dataclass(frozen=True)
class Heard:
    """A sighting, and when it was made."""

    sighting: Sighting
    at: datetime


@dataclass(frozen=True)
class Evidence:
    """Evidence that a device holds a lease at `endpoint`, and had it at time `at`."""

    device: str
    endpoint: str
    at: datetime
    how: How


class Sightings:
    """Takes in reports (`take`, `run`) on every controller, and decides (`decide`) on the leader. `seen` gets the
    device and the endpoint. `lease_seconds` returns the lease time of an endpoint."""

    def __init__(
        self,
        database: Database,
        intent: Callable[[], Intent],
        lease_seconds: Callable[[str], int],
        replicas: Replicas,
        wakeup: Wakeup,
        suspicions: Suspicions,
        metrics: Metrics,
        seen: Callable[[str, str], Awaitable[object]],
    ) -> None:
        self._database, self._intent, self._lease_seconds = database, intent, lease_seconds
        self._replicas, self._wakeup = replicas, wakeup
        self._suspicions, self._metrics, self.seen = suspicions, metrics, seen
        self._waiting: list[Heard] = []
        self._more, self._news = asyncio.Event(), asyncio.Event()
        self._untold: dict[str, str] = {}
        replicas.hear[KIND] = lambda who, words: self._news.set()

    async def take(self, report: SightingReport) -> None:
        """Take in a report of an agent about its own LANs; return when the sightings that are certain are in the
        database. Raises Refused for an invalid address."""
        at = now()
        for sighting in report.sightings:
            if not _is_address(sighting.address):
                raise invalid("sightings", f"{printable(sighting.address, 45)!r} is not an IP address")
        heard = [Heard(sighting, at - timedelta(seconds=sighting.age)) for sighting in report.sightings]
        unsure = await self._work(heard)
        if unsure:
            self._waiting = (self._waiting + unsure)[:MOST_WAITING]
            self._more.set()

    async def run(self) -> None:
        """Judge the waiting sightings again and again, until cancelled."""
        while True:
            await self._more.wait()
            self._more.clear()
            await asyncio.sleep(AGAIN)
            waiting, self._waiting = self._waiting, []
            try:
                unsure = await self._work(waiting)
            except Exception:  # the next attempt may succeed
                log.exception("%d sightings", len(waiting))
                unsure = waiting
            self._waiting = (unsure + self._waiting)[:MOST_WAITING]
            if self._waiting:
                self._more.set()

    async def _work(self, heard: Iterable[Heard]) -> list[Heard]:
        """Judge sightings, and record those that count. Returns those that may count later."""
        intent, evidence, unsure = self._intent(), list[Evidence](), list[Heard]()
        witnesses = Witnesses(intent)
        ours = [one for one in heard if one.sighting.endpoint in intent.endpoints]
        homes = {one.sighting: where for one in ours if (where := witnesses.home(one.sighting))}
        async with self._database.read() as session:
            found = await table.leased(session, homes.values(), now()) if homes else {}
        for one in ours:
            sighting = one.sighting
            row = found.get(homes.get(sighting, ("", "")))
            lease = self._lease(*row) if row else None
            worth = witnesses.judge(sighting, lease)
            if worth not in (Worth.SEEN, Worth.VM) and sighting.how == "lease" and one.at + _PATIENCE > now():
                unsure.append(one)
                continue
            self._metrics.sightings.labels(sighting.how, worth).inc()
            if worth is Worth.SPOOFED and lease is not None:
                self._suspicions.raise_(sighting, lease)
            elif worth is Worth.SEEN and lease is not None:
                at = one.at if sighting.how == "lease" else lease.since
                evidence.append(Evidence(lease.device, lease.endpoint, at, sighting.how))
        if evidence:
            await self._keep(evidence)
        return unsure

    def _lease(self, row: LeaseRow, macs: frozenset[str]) -> Lease:
        renewed = row.expires_at - timedelta(seconds=self._lease_seconds(row.endpoint))
        return Lease(row.device, row.kind, row.endpoint, macs, min(row.granted_at, renewed))

    async def _keep(self, evidence: list[Evidence]) -> None:
        names = {one.device for one in evidence}
        async with self._database.read() as session:
            if not _after(await table.places(session, names), evidence):
                return  # nothing new, as with most packets

        async def work(session: AsyncSession) -> None:
            before = await table.places(session, names, lock=True)
            after = _after(before, evidence)
            await table.save(session, before, after)
            if any(not place.settled for place in after.values()):
                await self._replicas.say(session, KIND)

        await self._database.transact(work)
        self._news.set()

    async def decide(self) -> None:
        """Decide where devices are, until cancelled. Only the leader does this."""
        begun = False
        while True:
            wait = LOOK
            try:
                if not begun:
                    async with self._database.read() as session:
                        self._untold = dict(await table.apart(session))
                    begun = True
                wait = await self._settle()
                await self._tell()
            except Exception:  # the next round may succeed
                log.exception("where devices are")
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()
            self._news.clear()
            await asyncio.sleep(0.02)  # collects news that come together

    async def _settle(self) -> float:
        """Settle the devices that have stayed for long enough; return the seconds until the next one may settle."""
        intent, at = self._intent(), now()
        seconds = intent.policy.migration.settle_seconds
        async with self._database.read() as session:
            found = await table.unsettled(session, at)
        due = [
            (settles_at(place, seconds), device, place)
            for device, place, vm in found
            if follows(intent, place.seen_endpoint, vm)
        ]
        ripe = sorted(((device, place) for when, device, place in due if when <= at), key=lambda one: one[0])
        if ripe:
            settled = {}
            async with self._database.write() as session:
                for device, place in ripe[:AT_ONCE]:
                    if await table.settle(session, device, place, at):
                        settled[device] = place.seen_endpoint
                        await _note(session, device, place, at)
            self._untold |= settled
            self._metrics.devices_settled.inc(len(settled))
            self._wakeup.ring()
        if len(ripe) > AT_ONCE:
            return 0.0
        return min([LOOK, *((when - at).total_seconds() for when, _, _ in due if when > at)])

    async def _tell(self) -> None:
        for device, endpoint in list(self._untold.items()):
            try:
                await self.seen(device, endpoint)
            except Exception:  # go on with the others, and try this one again
                log.exception("%s is at %s", device, endpoint)
            else:
                del self._untold[device]


_PATIENCE = timedelta(seconds=PATIENCE)


def _after(before: dict[str, DevicePlace], evidence: Iterable[Evidence]) -> dict[str, DevicePlace]:
    """Return the places that change; the oldest evidence is applied first."""
    after = dict(before)
    for one in sorted(evidence, key=lambda one: (one.at, one.endpoint)):
        after[one.device] = see(after.get(one.device), one.endpoint, one.at, one.how)
    return {device: place for device, place in after.items() if before.get(device) != place}


async def _note(session: AsyncSession, device: str, place: DevicePlace, at: datetime) -> None:
    was = f", no longer at {place.endpoint}" if place.endpoint else ""
    text = f"{device} is at {place.seen_endpoint}{was}"
    seconds = round((at - place.seen_since).total_seconds(), 3)
    data = {"endpoint": place.seen_endpoint, "before": place.endpoint, "how": place.how, "after_seconds": seconds}
    await events.add(session, "device-seen", device, text, caused_by=of_endpoint(place.seen_endpoint or ""), **data)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text
