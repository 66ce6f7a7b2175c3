"""Certificates that were issued. They outlive their cloudlets: a revoked one stays on the list until it expires."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import ColumnElement, String, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, NUMBER, Base, Time
from controller.trust.authority import Issued, Reason, Revoked
from controller.trust.ceremony import CertificateInUse

KEPT = timedelta(days=7)
"""How long a certificate is kept after it has expired."""


class Standing(StrEnum):
    """Whether a certificate is valid now."""

    GOOD = "good"
    EXPIRED = "expired"
    REVOKED = "revoked"


class CertificateRow(Base):
    """`serial` and `fingerprint` as in `trust.authority.Issued`; `reason` as in RFC 5280. `issuer` is the SHA-256 of
    the key that it is signed with, and None if an earlier release issued it."""

    __tablename__ = "certificates"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    serial: Mapped[str] = mapped_column(String(40), unique=True)
    cloudlet: Mapped[str] = mapped_column(NAME, index=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    not_before: Mapped[datetime] = mapped_column(Time)
    not_after: Mapped[datetime] = mapped_column(Time, index=True)
    revoked_at: Mapped[datetime | None] = mapped_column(Time)
    reason: Mapped[str | None] = mapped_column(String(32))
    issuer: Mapped[str | None] = mapped_column(String(64))

    def standing(self, at: datetime) -> Standing:
        """Return whether the certificate is valid at a moment."""
        if self.revoked_at is not None:
            return Standing.REVOKED
        return Standing.GOOD if self.not_after > at else Standing.EXPIRED


@dataclass(frozen=True, slots=True)
class Which:
    """The certificates to list: of one cloudlet, and of one standing. With `former_to`, only those that are good and
    not known to be from that key."""

    cloudlet: str | None = None
    standing: Standing | None = None
    former_to: str | None = None


def add(session: AsyncSession, cloudlet: str, issued: Issued, issuer: str | None) -> None:
    """Record an issued certificate, and the key it is signed with."""
    times = {"not_before": issued.not_before, "not_after": issued.not_after}
    what = {"serial": issued.serial, "fingerprint": issued.fingerprint, "issuer": issuer}
    session.add(CertificateRow(cloudlet=cloudlet, **what, **times))


async def get(session: AsyncSession, serial: str) -> CertificateRow | None:
    """Return the certificate of that serial number."""
    row: CertificateRow | None = await session.scalar(select(CertificateRow).where(CertificateRow.serial == serial))
    return row


async def page(session: AsyncSession, after: int, limit: int, which: Which) -> list[CertificateRow]:
    """Return up to `limit` certificates issued after the one of that id."""
    query = select(CertificateRow).where(CertificateRow.id > after, *_wanted(which, now()))
    return list(await session.scalars(query.order_by(CertificateRow.id).limit(limit)))


def _wanted(which: Which, at: datetime) -> list[ColumnElement[bool]]:
    valid, revoked = CertificateRow.not_after > at, CertificateRow.revoked_at.is_not(None)
    standings = {Standing.GOOD: valid & ~revoked, Standing.EXPIRED: ~valid & ~revoked, Standing.REVOKED: revoked}
    wanted: list[ColumnElement[bool]] = [standings[which.standing]] if which.standing is not None else []
    if which.cloudlet is not None:
        wanted.append(CertificateRow.cloudlet == which.cloudlet)
    if which.former_to is not None:
        other = CertificateRow.issuer.is_(None) | (CertificateRow.issuer != which.former_to)
        wanted += [standings[Standing.GOOD], other]
    return wanted


async def in_use(session: AsyncSession, issuer: str, at: datetime) -> list[CertificateInUse]:
    """Return the certificates that are good and from that key, or from a key that is not known."""
    query = select(CertificateRow).where(CertificateRow.revoked_at.is_(None), CertificateRow.not_after > at)
    rows = list(await session.scalars(query.order_by(CertificateRow.cloudlet, CertificateRow.id)))
    since = {row.cloudlet for row in rows if row.issuer not in (None, issuer)}
    return [CertificateInUse(row.cloudlet, row.cloudlet in since) for row in rows if row.issuer in (None, issuer)]


async def good(session: AsyncSession, cloudlet: str, at: datetime) -> list[CertificateRow]:
    """Return a cloudlet's certificates that are neither expired nor revoked."""
    query = select(CertificateRow).where(CertificateRow.cloudlet == cloudlet, CertificateRow.revoked_at.is_(None))
    return list(await session.scalars(query.where(CertificateRow.not_after > at).order_by(CertificateRow.id)))


async def unrevoked(session: AsyncSession, cloudlet: str) -> list[CertificateRow]:
    """Return a cloudlet's certificates that were not revoked, including those that have expired."""
    query = select(CertificateRow).where(CertificateRow.cloudlet == cloudlet, CertificateRow.revoked_at.is_(None))
    return list(await session.scalars(query))


async def revoke(session: AsyncSession, cloudlet: str, reason: Reason, at: datetime) -> list[str]:
    """Revoke all certificates of a cloudlet that are good; return their serial numbers."""
    rows = await good(session, cloudlet, at)
    for row in rows:
        row.revoked_at, row.reason = at, reason
    return [row.serial for row in rows]


async def revoked(session: AsyncSession, at: datetime) -> list[Revoked]:
    """Return the entries of the revocation list. An expired certificate can be left out once a list had it (RFC 5280,
    3.3)."""
    query = select(CertificateRow).where(CertificateRow.revoked_at.is_not(None)).order_by(CertificateRow.id)
    rows = await session.scalars(query.where(CertificateRow.not_after > at - timedelta(days=1)))
    return [Revoked(r.serial, r.revoked_at, Reason(r.reason)) for r in rows if r.revoked_at and r.reason]


async def prune(session: AsyncSession) -> None:
    """Delete certificates that expired long ago."""
    await session.execute(delete(CertificateRow).where(CertificateRow.not_after < now() - KEPT))
