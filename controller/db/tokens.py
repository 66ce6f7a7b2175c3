"""API tokens of users and programs."""

from datetime import datetime

from sqlalchemy import String, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, Base, Time


class TokenRow(Base):
    """`digest` is that of the secret, which is stored nowhere; `used_at` is about the time of the last request with it,
    None before the first. Rows stay after the token expires or is revoked: a name
    stands for one token for ever, so that acts under this name can be traced."""

    __tablename__ = "tokens"

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    tenant: Mapped[str | None] = mapped_column(NAME)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    expires_at: Mapped[datetime] = mapped_column(Time)
    revoked_at: Mapped[datetime | None] = mapped_column(Time)
    used_at: Mapped[datetime | None] = mapped_column(Time)

    def good(self, at: datetime) -> bool:
        """Return whether the token is accepted at that time."""
        return self.revoked_at is None and at < self.expires_at


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> TokenRow | None:
    """Return the token of that name. `lock`: no other transaction changes it before this one ends."""
    return await session.get(TokenRow, name, populate_existing=True, with_for_update=lock or None)


async def of_digest(session: AsyncSession, digest: str) -> TokenRow | None:
    """Return the token whose secret has this digest."""
    row: TokenRow | None = await session.scalar(select(TokenRow).where(TokenRow.digest == digest))
    return row


async def use(session: AsyncSession, name: str, at: datetime) -> None:
    """Note that a token is in use."""
    await session.execute(update(TokenRow).where(TokenRow.name == name).values(used_at=at))


async def page(session: AsyncSession, after: str, limit: int) -> list[TokenRow]:
    """Return up to `limit` tokens whose names sort after `after`."""
    query = select(TokenRow).where(TokenRow.name > after).order_by(TokenRow.name).limit(limit)
    return list(await session.scalars(query))
