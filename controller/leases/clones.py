"""Machines in two cloudlets that were copied with their client id: found in the leases, and reported once."""

from collections.abc import Callable
from datetime import datetime, timedelta

from controller.core.clock import now
from controller.core.clones import Clones, Use, clones
from controller.core.event_budget import of_endpoint
from controller.core.intent import Intent
from controller.db import leases
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.runtime.event_log import EventLog

MOST = 1000
"""Most pairs of leases that are looked at."""


class ClonedClients:
    """`lease_seconds` returns the lease time of an endpoint. A new leader reports all copied machines again."""

    def __init__(
        self, database: Database, intent: Callable[[], Intent], lease_seconds: Callable[[str], int], event_log: EventLog
    ) -> None:
        self._database, self._intent, self._lease_seconds, self._event_log = database, intent, lease_seconds, event_log
        self._told: set[tuple[str, str, str, str, str]] = set()

    async def found(self) -> list[Clones]:
        """Return the copied machines that there are now."""
        at, known = now(), self._intent().endpoints
        async with self._database.read() as session:
            rows = await leases.with_one_client_id(session, at, MOST)
        rows = [pair for pair in rows if all(row.endpoint in known for row in pair)]
        return list(clones((self._use(one, at), self._use(other, at)) for one, other in rows))

    def _use(self, row: LeaseRow, at: datetime) -> Use:
        latest = min(at, row.expires_at - timedelta(seconds=self._lease_seconds(row.endpoint)))
        cloudlet = self._intent().endpoints[row.endpoint].cloudlet
        return Use(row.client_id or "", row.mac or "", row.endpoint, cloudlet, row.granted_at, latest)

    async def tell(self) -> None:
        """Note an event for each copied machine that was not found the last time. Only the leader does this, now and
        then."""
        found = await self.found()
        for one in found:
            if one.key not in self._told:
                uses = [
                    {"mac": use.mac, "endpoint": use.endpoint, "cloudlet": use.cloudlet} for use in (one.one, one.other)
                ]
                source = of_endpoint(one.one.endpoint)
                self._event_log.note(
                    "cloned-client", one.one.endpoint, one.text, caused_by=source, client_id=one.shown, uses=uses
                )
        self._told = {one.key for one in found}
