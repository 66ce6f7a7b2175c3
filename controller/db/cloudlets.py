"""Cloudlets."""

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, Float, String, bindparam, false, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, NUMBER, Base, Time


class CloudletRow(Base):
    """One row per cloudlet. `token`, `credential` and `key` are digests. A token that was used stays, so that its reuse
    can be told from an invented token. `version` is the generation at which the desired state last changed. `asn` and
    `ttl_security` are those of a PE that is `unmanaged`."""

    __tablename__ = "cloudlets"
    __table_args__ = (
        CheckConstraint("pe IN ('vpls', 'evpn', 'vpnv4', 'vpnv6')", name="pe"),
        CheckConstraint("state IN ('invited', 'pending', 'active', 'draining')", name="state"),
    )

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    pe: Mapped[str] = mapped_column(String(8))
    vtep: Mapped[str] = mapped_column(String(45), unique=True)
    state: Mapped[str] = mapped_column(String(16))
    version: Mapped[int] = mapped_column(NUMBER, default=0)
    approval: Mapped[bool] = mapped_column(default=False)
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    latitude: Mapped[float | None] = mapped_column(Float)
    longitude: Mapped[float | None] = mapped_column(Float)
    token: Mapped[str | None] = mapped_column(String(64))
    token_expires_at: Mapped[datetime | None] = mapped_column(Time)
    token_used_at: Mapped[datetime | None] = mapped_column(Time)
    credential: Mapped[str | None] = mapped_column(String(64), unique=True)
    revoked: Mapped[bool] = mapped_column(default=False, server_default=false())
    key: Mapped[str | None] = mapped_column(String(64))
    unmanaged: Mapped[bool] = mapped_column(default=False, server_default=false())
    asn: Mapped[int | None] = mapped_column(BigInteger)
    ttl_security: Mapped[int | None]
    agent_version: Mapped[str | None] = mapped_column(String(64))
    last_seen: Mapped[datetime | None] = mapped_column(Time)
    created_at: Mapped[datetime] = mapped_column(Time, default=now)
    revision: Mapped[int] = mapped_column(default=1)


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> CloudletRow | None:
    """Return the cloudlet of that name. `lock`: no other transaction changes it before this one ends."""
    return await session.get(CloudletRow, name, populate_existing=True, with_for_update=lock or None)


async def page(session: AsyncSession, after: str, limit: int) -> list[CloudletRow]:
    """Return up to `limit` cloudlets whose names sort after `after`."""
    query = select(CloudletRow).where(CloudletRow.name > after).order_by(CloudletRow.name).limit(limit)
    return list(await session.scalars(query))


async def amend(session: AsyncSession, name: str, **columns: Any) -> None:
    """Set columns and increase the revision."""
    await session.execute(
        update(CloudletRow).where(CloudletRow.name == name).values(**columns, revision=CloudletRow.revision + 1)
    )


_heard = (
    update(CloudletRow.__table__)  # type: ignore[arg-type]
    .where(CloudletRow.name == bindparam("of"))
    .values(last_seen=bindparam("when"), agent_version=func.coalesce(bindparam("said"), CloudletRow.agent_version))
)


async def note_seen(session: AsyncSession, seen: Mapping[str, tuple[datetime, str | None]]) -> None:
    """Record when agents were last heard of, and their versions. Cloudlets that another transaction is changing are
    left out: to wait for one while holding others would let two transactions block each other, and agents are soon
    heard of again."""
    names = iter(sorted(seen))
    while some := list(islice(names, 1000)):
        free = select(CloudletRow.name).where(CloudletRow.name.in_(some)).with_for_update(skip_locked=True)
        rows = [{"of": name, "when": seen[name][0], "said": seen[name][1]} for name in await session.scalars(free)]
        if rows:
            await (await session.connection()).execute(_heard, rows)
