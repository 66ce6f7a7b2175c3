"""The check that a caller with a cloudlet's credential also has the cloudlet's certificate. Refusals are logged and
noted as events."""

import logging
import time

from controller.core import credential_proofs
from controller.core.clock import now
from controller.core.credential_proofs import Peer
from controller.core.event_budget import STRANGERS, of_cloudlet
from controller.core.intent import Cloudlet
from controller.core.unavailable import Unavailable
from controller.db import certificates as table
from controller.db.engine import Database
from controller.identity.tls_peer import TlsPeer
from controller.runtime.event_log import EventLog

log = logging.getLogger(__name__)

AGAIN = 60.0
"""Seconds in which the same refusal is noted only once."""

AGENTS = "agents"
"""The subject of refusals of callers that have not said which cloudlet they are."""

MOST = 1000
"""Most refusals that are remembered for `AGAIN`."""


class Refusals:
    """Logs refusals and notes them in the event log."""

    def __init__(self, event_log: EventLog) -> None:
        self._event_log = event_log
        self._noted: dict[tuple[str, str], float] = {}

    def note(self, subject: str, reason: str) -> None:
        """Note a refusal, once in `AGAIN` seconds for each subject and reason."""
        at = time.monotonic()
        if len(self._noted) >= MOST:
            self._noted = {key: when for key, when in self._noted.items() if at - when < AGAIN}
        if at - self._noted.get((subject, reason), -AGAIN) < AGAIN or len(self._noted) >= MOST:
            return
        self._noted[subject, reason] = at
        text = f"an agent's request was refused: {reason}"
        log.warning("%s: %s", subject, text)
        source = STRANGERS if subject == AGENTS else of_cloudlet(subject)
        self._event_log.note("agent-refused", subject, text, caused_by=source)


class Proofs:
    """Checks the certificates that connections have shown. With `tls_only`, agents are served over TLS only."""

    def __init__(self, database: Database, refusals: Refusals, *, tls_only: bool) -> None:
        self._database, self.refusals, self.tls_only = database, refusals, tls_only

    async def reason(self, cloudlet: Cloudlet, shown: TlsPeer | None) -> str | None:
        """Return why the credential of a cloudlet does not count on this connection, None if it does. `shown` is None
        without TLS. Raises Unavailable."""
        peer = shown.peer if shown is not None else None
        why = credential_proofs.lacking(cloudlet, peer, tls=shown is not None, tls_only=self.tls_only)
        if why is None and shown is not None and (shown.cleared is None or shown.cleared <= now()):
            assert peer is not None
            why = await self._look(cloudlet, shown, peer)
        if why is not None:
            self.refusals.note(cloudlet.name, why)
        return why

    async def _look(self, cloudlet: Cloudlet, shown: TlsPeer, peer: Peer) -> str | None:
        """Check a certificate against the record of issued ones. A connection may outlive its certificate if the
        cloudlet has got another one in time."""
        at = now()
        if shown.cleared is None and (why := credential_proofs.expired(peer, at)):
            return why
        try:
            async with self._database.read() as session:
                row = await table.get(session, peer.serial)
                ends = [good.not_after for good in await table.good(session, cloudlet.name, at)]
        except Unavailable:
            if shown.cleared is None and cloudlet.key is not None:
                return None  # a revoked certificate has another key, or its credential has ended too
            raise
        if shown.cleared is not None:
            if not ends:
                return credential_proofs.expired(peer, at)
            shown.cleared = max(ends)
            return None
        if row is None or row.cloudlet != cloudlet.name:
            return f"the certificate {peer.serial} is not on record as {cloudlet.name}'s"
        if row.revoked_at is not None:
            return f"the certificate of {cloudlet.name} was revoked at {row.revoked_at:%Y-%m-%dT%H:%M:%SZ}"
        shown.cleared = peer.not_after
        return None
