"""The service for cloudlets' certificates: issues, checks and revokes them, and informs agents and route servers."""

import logging
from datetime import timedelta
from functools import partial
from typing import ClassVar

from controller.agents.registry import Agents
from controller.changes.flow import Changes
from controller.identity.certificates import Certificates
from controller.identity.credential_proofs import AGENTS, Proofs, Refusals
from controller.identity.revocations import RevocationList
from controller.replication.replicas import Replicas
from controller.runtime.maintenance import PRUNE, Chore, sweep
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever
from controller.settings import Settings
from controller.trust import found
from controller.trust.authority import AuthorityAway
from controller.trust.caller import Caller
from controller.trust.listener import Listener

log = logging.getLogger(__name__)


class IdentityService(Service):
    """`listener` serves agents over TLS, and is None where WEFT_AGENT_LISTEN is not set. `caller` checks the
    certificates of route servers, and is None without an authority. Raises BadSettings."""

    name: ClassVar[str] = "identity"

    def __init__(
        self, settings: Settings, runtime: Runtime, registry: Agents, changes: Changes, replicas: Replicas
    ) -> None:
        authority = found.read(settings.authority_kind, settings.authority) if settings.authority else None
        lifetime, refusals = timedelta(seconds=settings.certificate_seconds), Refusals(runtime.event_log)
        self._event_log, self._leadership = runtime.event_log, replicas.leadership
        self.certificates = Certificates(runtime.database, authority, lifetime, changes, runtime.wakeup)
        self.revocations = RevocationList(self.certificates, registry, replicas)
        self.proofs = Proofs(runtime.database, refusals, tls_only=settings.agent_tls_only)
        self.listener: Listener | None = None
        self.caller = Caller(authority, self.revocations.document) if authority is not None else None
        if authority is not None and settings.agent_listen:
            self.listener = Listener(authority, lifetime, lambda reason: refusals.note(AGENTS, reason))

    async def run(self) -> None:
        """Renew the certificates that this controller shows, and check whether the authority has changed. The leader
        warns in time that the authority ends."""
        renewing = [one.run for one in (self.listener, self.caller) if one is not None]
        watching = [partial(self.revocations.watch, self._authority_changed)] if self.certificates.authority else []
        reminding = partial(sweep, [Chore(self._remind, PRUNE)])
        await forever(*watching, *renewing, partial(self._leadership.lead, reminding))

    async def _remind(self) -> None:
        self.certificates.remind(self._event_log)

    async def _authority_changed(self) -> None:
        self._event_log.note("authority-changed", "authority", "who is trusted, or who issues, was changed")
        if self.listener is not None:
            try:
                await self.listener.renew()
            except AuthorityAway as away:
                log.error("%s", away)
