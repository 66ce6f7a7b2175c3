"""Certificates: issued to enrolled agents, and revoked together with the credential of their cloudlet."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.auth.audit_context import acts
from controller.changes.flow import Changes
from controller.core import edits
from controller.core.clock import now
from controller.core.event_budget import of_cloudlet
from controller.core.intent import Cloudlet, CloudletState, Intent
from controller.core.refusals import conflict, invalid, missing
from controller.db import audit, cloudlets, events
from controller.db import certificates as table
from controller.db.certificates import CertificateRow
from controller.db.cloudlets import CloudletRow
from controller.db.engine import Database
from controller.identity.tls_peer import TlsPeer
from controller.runtime.event_log import EventLog
from controller.runtime.wakeup import Wakeup
from controller.trust.authority import Authority, Issued, Reason
from controller.trust.requests import check
from controller.trust.x509 import fingerprint_of, issuer_key, issuer_of
from controller.wire.certificates import Certified

log = logging.getLogger(__name__)

RENEWAL = "certificate"
"""The name of this act in the audit log."""

DAY, MONTH = timedelta(days=1), timedelta(days=30)

AGAIN = timedelta(minutes=10)
"""How long after its first certificate an agent that did not receive it may ask again."""

MOST_GOOD = 16
"""Most good certificates of one cloudlet at a time. Agents need two; an agent that asks for more is faulty."""


class Certificates:
    """`authority` is None where no certificates are issued; `lifetime` is how long each certificate is good."""

    def __init__(
        self, database: Database, authority: Authority | None, lifetime: timedelta, changes: Changes, wakeup: Wakeup
    ) -> None:
        self.authority, self.lifetime = authority, lifetime
        self._database, self._changes, self._wakeup = database, changes, wakeup
        self._reminded = datetime.min.replace(tzinfo=UTC)

    @property
    def issuer(self) -> str | None:
        """The digest of the key that signs certificates now, as certificates on record name it; None where none are
        issued."""
        return issuer_key(self.authority.chain) if self.authority else None

    async def sign(self, csr: str, cloudlet: str, vtep: str) -> Issued | None:
        """Return a new certificate, not yet on record; None where none are issued. Raises Refused and AuthorityAway."""
        check(csr, cloudlet)
        return await self.authority.issue(csr, cloudlet, vtep, self.lifetime) if self.authority else None

    async def record(self, session: AsyncSession, cloudlet: str, issued: Issued) -> Certified:
        """Put an issued certificate on record, and return it as the agent gets it. An agent gets no certificate that is
        not on record."""
        assert self.authority is not None
        table.add(session, cloudlet, issued, issuer_of(issued.certificate, self.authority.authorities))
        text = f"a certificate was issued to {cloudlet}, good until {issued.not_after:%Y-%m-%dT%H:%M:%SZ}"
        await events.add(
            session, "certificate-issued", cloudlet, text, caused_by=of_cloudlet(cloudlet), serial=issued.serial
        )
        return Certified(certificate=issued.certificate, chain=self.authority.chain)

    async def renew(self, cloudlet: Cloudlet, csr: str, shown: TlsPeer | None = None) -> Certified:
        """Issue a certificate to an agent with a credential. Over TLS (`shown`), it must be for the key that the
        credential is bound to; a credential that is not bound yet is bound to the key of this certificate. Raises
        Refused and AuthorityAway."""
        issued = await self.sign(csr, cloudlet.name, cloudlet.vtep)
        if issued is None:
            raise missing("authority", "certificates")
        key = fingerprint_of(csr)
        bound = cloudlet.key or (shown.peer.key if shown is not None and shown.peer is not None else None)
        if bound is not None and key != bound:
            raise invalid("csr", f"the certificate request is not for the key that {cloudlet.name} has")
        async with self._written(cloudlet.name), self._database.write() as session:
            row = await cloudlets.get(session, cloudlet.name, lock=True)  # no one can revoke it meanwhile
            if row is None or row.credential != cloudlet.credential or row.vtep != cloudlet.vtep:
                raise conflict(f"{cloudlet.name} was changed meanwhile")
            if row.state not in (CloudletState.ACTIVE, CloudletState.DRAINING):
                raise conflict(f"{cloudlet.name} is {row.state}: it gets a certificate when it is approved")
            if shown is not None and shown.peer is None and await self._had(session, row, cloudlet):
                raise conflict(f"{cloudlet.name} has a certificate: only its holder gets another one, by showing it")
            if len(await table.good(session, cloudlet.name, now())) >= MOST_GOOD:
                raise conflict(f"{cloudlet.name} has {MOST_GOOD} certificates that are good")
            certified = await self.record(session, cloudlet.name, issued)
        if shown is not None and cloudlet.key is None:
            await self._changes.make(lambda intent: edits.bind(intent, cloudlet.name, key), f"bind {cloudlet.name}")
        self._wakeup.ring()
        return certified

    @asynccontextmanager
    async def _written(self, cloudlet: str) -> AsyncIterator[None]:
        """Write an agent's renewals to the audit log only once a day, because agents renew by themselves all the
        time."""
        who = f"agent:{cloudlet}"
        async with self._database.read() as session:
            told = await audit.since(session, who, RENEWAL, now() - DAY)
        with nullcontext() if told else acts(who, RENEWAL, "/api/v1/agent/certificate"):
            yield

    async def _had(self, session: AsyncSession, row: CloudletRow, cloudlet: Cloudlet) -> bool:
        """Return whether the cloudlet got a certificate since it enrolled. An agent that has the key may ask again for
        a while, in case the answer was lost."""
        before = now() - (AGAIN if cloudlet.key is not None else timedelta())
        return any(
            row.token_used_at is None or had.not_after > row.token_used_at
            for had in await table.unrevoked(session, cloudlet.name)
            if had.not_before <= before
        )

    async def revoke(self, serial: str, reason: Reason) -> CertificateRow:
        """Revoke a certificate. The owner of its key has the cloudlet's credential as well, so the credential, every
        other certificate of the cloudlet and the agent's session end too. Raises Refused."""
        name = (await self.get(serial)).cloudlet

        async def guard(session: AsyncSession) -> None:
            row = await table.get(session, serial)
            if row is None:
                raise missing("certificate", serial)
            if row.revoked_at is not None:
                raise conflict(f"it was revoked at {row.revoked_at:%Y-%m-%dT%H:%M:%SZ}")
            if row.not_after <= now():
                raise conflict(f"it expired at {row.not_after:%Y-%m-%dT%H:%M:%SZ}")

        async def also(session: AsyncSession, _intent: Intent) -> None:
            await end(session, name, reason)

        await self._changes.make(lambda intent: edits.end_credential(intent, name), f"revoke {name}", also, guard)
        return await self.get(serial)

    async def get(self, serial: str) -> CertificateRow:
        """Return a certificate by its serial number. Raises Refused if there is none."""
        async with self._database.read() as session:
            row = await table.get(session, serial)
        if row is None:
            raise missing("certificate", serial)
        return row

    def remind(self, event_log: EventLog) -> None:
        """Note, once a day in the last month of the authority's certificate, that the authority has to be renewed."""
        at = now()
        if self.authority is None or at < self.authority.not_after - MONTH or at < self._reminded + DAY:
            return
        self._reminded = at
        text = (
            f"the authority's certificate is good until {self.authority.not_after:%Y-%m-%d}: weft-controller ca renew"
        )
        log.warning("%s", text)
        event_log.note("authority-ends", "authority", text)

    async def crl(self) -> str:
        """Return the revocation list as it is now. Raises Refused and AuthorityAway."""
        if self.authority is None:
            raise missing("authority", "certificates")
        async with self._database.read() as session:
            revoked = await table.revoked(session, now())
        return await self.authority.crl(revoked)


async def end(session: AsyncSession, cloudlet: str, reason: Reason) -> bool:
    """Revoke all certificates of a cloudlet, in the transaction that ends its credential. Returns whether there were
    any."""
    serials = await table.revoke(session, cloudlet, reason, now())
    for serial in serials:
        text = f"a certificate of {cloudlet} was revoked: {reason}"
        await events.add(session, "certificate-revoked", cloudlet, text, serial=serial, reason=reason)
    return bool(serials)
