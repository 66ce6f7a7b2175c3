"""Which keys BGP sessions are signed with: their names, never the keys."""

from sqlalchemy import JSON, String, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.session_keys import SessionKeys
from controller.db.base import NAME, Base


class SessionKeysRow(Base):
    """As `controller.core.session_keys.SessionKeys`; `credential` is the digest of the one they were made for."""

    __tablename__ = "session_keys"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    credential: Mapped[str] = mapped_column(String(64))
    wanted: Mapped[str | None] = mapped_column(String(32))
    held: Mapped[str | None] = mapped_column(String(32))
    in_force: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    seen: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)

    @property
    def keys(self) -> SessionKeys:
        """What it says."""
        return SessionKeys(self.wanted, self.held, dict(self.in_force), dict(self.seen))


async def load(session: AsyncSession) -> dict[str, SessionKeysRow]:
    """All of them, by cloudlet."""
    return {row.cloudlet: row for row in await session.scalars(select(SessionKeysRow))}


async def get(session: AsyncSession, cloudlet: str) -> SessionKeysRow | None:
    """One cloudlet's; nobody else changes it before the transaction ends."""
    return await session.get(SessionKeysRow, cloudlet, populate_existing=True, with_for_update=True)


async def forget(session: AsyncSession, cloudlet: str) -> None:
    """Removes a cloudlet's, if there are any."""
    await session.execute(delete(SessionKeysRow).where(SessionKeysRow.cloudlet == cloudlet))
