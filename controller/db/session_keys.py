"""The names of the keys that BGP sessions are signed with, never the keys themselves."""

from sqlalchemy import JSON, String, delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.session_keys import SessionKeys
from controller.db.base import NAME, Base


class SessionKeysRow(Base):
    """The columns of `controller.core.session_keys.SessionKeys`; `credential` is the digest of the credential that they
    were made for, empty for a PE without an agent."""

    __tablename__ = "session_keys"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    credential: Mapped[str] = mapped_column(String(64))
    wanted: Mapped[str | None] = mapped_column(String(32))
    held: Mapped[str | None] = mapped_column(String(32))
    in_force: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    seen: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)

    @property
    def keys(self) -> SessionKeys:
        """The keys, as decisions read them."""
        return SessionKeys(self.wanted, self.held, dict(self.in_force), dict(self.seen))


async def load(session: AsyncSession) -> dict[str, SessionKeysRow]:
    """Return all rows, by cloudlet."""
    return {row.cloudlet: row for row in await session.scalars(select(SessionKeysRow))}


async def get(session: AsyncSession, cloudlet: str) -> SessionKeysRow | None:
    """Return one cloudlet's row; no other transaction changes it before this one ends."""
    return await session.get(SessionKeysRow, cloudlet, populate_existing=True, with_for_update=True)


async def forget(session: AsyncSession, cloudlet: str) -> None:
    """Remove a cloudlet's row, if there is one."""
    await session.execute(delete(SessionKeysRow).where(SessionKeysRow.cloudlet == cloudlet))
