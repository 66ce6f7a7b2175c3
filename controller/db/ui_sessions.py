"""Sessions of the web UI."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, CheckConstraint, Index, String, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import Base, Time

MOST = 20
"""Sessions of one user. A further one ends the oldest."""

UNUSED = timedelta(days=1)
"""How long a session that nobody uses stays at most; the controller's setting may end it before."""


class UiSessionRow(Base):
    """`digest` is that of the session's secret, which only the browser has. `credential` is the digest of the token
    that the user signed in with: the session holds as long as the token. A user of an OIDC issuer has `claims`
    instead. `who` is the user's name in the audit log, `seen_at` about the time of the user's last act."""

    __tablename__ = "ui_sessions"
    __table_args__ = (
        CheckConstraint("credential IS NOT NULL OR claims IS NOT NULL", name="grant"),
        Index("ui_sessions_by_who", "who"),
    )

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    credential: Mapped[str | None] = mapped_column(String(64))
    claims: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    who: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    seen_at: Mapped[datetime] = mapped_column(Time, default=now)
    expires_at: Mapped[datetime] = mapped_column(Time)


async def get(session: AsyncSession, digest: str) -> UiSessionRow | None:
    """Return the session whose secret has this digest."""
    return await session.get(UiSessionRow, digest)


async def add(
    session: AsyncSession,
    digest: str,
    who: str,
    until: datetime,
    *,
    credential: str | None = None,
    claims: Mapping[str, Any] | None = None,
) -> None:
    """Add a session, and end the user's oldest ones beyond MOST."""
    given = dict(claims) if claims is not None else None
    session.add(UiSessionRow(digest=digest, credential=credential, claims=given, who=who, expires_at=until))
    await session.flush()
    mine = select(UiSessionRow.digest).where(UiSessionRow.who == who)
    surplus = list(await session.scalars(mine.order_by(UiSessionRow.created_at.desc()).offset(MOST)))
    await session.execute(delete(UiSessionRow).where(UiSessionRow.digest.in_(surplus)))


async def touch(session: AsyncSession, digest: str, at: datetime) -> None:
    """Note that the user acts at this time."""
    await session.execute(update(UiSessionRow).where(UiSessionRow.digest == digest).values(seen_at=at))


async def end(session: AsyncSession, digest: str) -> None:
    """End a session."""
    await session.execute(delete(UiSessionRow).where(UiSessionRow.digest == digest))


async def prune(session: AsyncSession) -> None:
    """Delete sessions that are over."""
    at = now()
    over = or_(UiSessionRow.expires_at <= at, UiSessionRow.seen_at <= at - UNUSED)
    await session.execute(delete(UiSessionRow).where(over))
