"""Leases: which device holds which address until when. Constraints ensure that an address of an endpoint is leased
once, and each half of a pair is."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    and_,
    case,
    delete,
    func,
    select,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, aliased, mapped_column

from controller.core.disconnects import Apart
from controller.core.lease_hits import HeldLease
from controller.db.base import NAME, NUMBER, Base, Time
from controller.db.engine import insert


class LeaseRow(Base):
    """One row per address held. A row whose time is over does not count; the sweeper removes it. `promised_until` is
    how long a controller itself has promised it, whatever agents report; None if none has."""

    __tablename__ = "leases"
    __table_args__ = (
        UniqueConstraint("endpoint", "address"),
        UniqueConstraint("pair", "kind"),
        CheckConstraint("kind IN ('md', 'vm')", name="kind"),
        Index("ix_leases_expires_at", "expires_at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    pair: Mapped[int] = mapped_column(BigInteger, ForeignKey("pairs.id"))
    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"))
    device: Mapped[str] = mapped_column(NAME, ForeignKey("devices.name"), index=True)
    kind: Mapped[Literal["md", "vm"]] = mapped_column(String(2))
    address: Mapped[str] = mapped_column(String(45))
    mac: Mapped[str | None] = mapped_column(String(17))
    client_id: Mapped[str | None] = mapped_column(String(510))
    hostname: Mapped[str | None] = mapped_column(String(255))
    granted_at: Mapped[datetime] = mapped_column(Time)
    expires_at: Mapped[datetime] = mapped_column(Time)
    promised_until: Mapped[datetime | None] = mapped_column(Time)
    revision: Mapped[int] = mapped_column(default=1)


async def get(session: AsyncSession, number: int, at: datetime, *, lock: bool = False) -> LeaseRow | None:
    """Return the lease of that id, if it has not expired. `lock`: no other transaction changes it before this one
    ends."""
    row = await session.get(LeaseRow, number, populate_existing=True, with_for_update=lock or None)
    return row if row is not None and row.expires_at > at else None


async def of(session: AsyncSession, pair: int, kind: str) -> LeaseRow | None:
    """Return the lease on one half of a pair, expired or not."""
    row: LeaseRow | None = await session.scalar(select(LeaseRow).where(LeaseRow.pair == pair, LeaseRow.kind == kind))
    return row


async def of_vm(session: AsyncSession, device: str, address: str) -> list[LeaseRow]:
    """Return the leases of a device's VM on an address, at any LAN."""
    query = select(LeaseRow).where(LeaseRow.device == device, LeaseRow.kind == "vm", LeaseRow.address == address)
    return list(await session.scalars(query))


async def live_of(session: AsyncSession, pair: int, at: datetime) -> LeaseRow | None:
    """Return a lease on either half of a pair that has not expired."""
    query = select(LeaseRow).where(LeaseRow.pair == pair, LeaseRow.expires_at > at).order_by(LeaseRow.address).limit(1)
    row: LeaseRow | None = await session.scalar(query)
    return row


async def live(session: AsyncSession, pairs: Collection[int], at: datetime) -> dict[int, dict[str, datetime]]:
    """Return when the leases on these pairs end, by pair and kind, without those that have ended."""
    if not pairs:
        return {}
    query = select(LeaseRow.pair, LeaseRow.kind, LeaseRow.expires_at)
    found: dict[int, dict[str, datetime]] = {}
    for pair, kind, until in await session.execute(query.where(LeaseRow.pair.in_(pairs), LeaseRow.expires_at > at)):
        found.setdefault(pair, {})[kind] = until
    return found


async def keep(session: AsyncSession, rows: list[dict[str, Any]], at: datetime) -> None:
    """Add or renew leases, many at once. An expired one begins anew; none ends before the time for which a controller
    has promised it."""
    if not rows:
        return
    statement = insert(session, LeaseRow)
    new = statement.excluded
    began = case((LeaseRow.expires_at <= at, new.granted_at), else_=LeaseRow.granted_at)
    longer = LeaseRow.promised_until > new.expires_at
    until = case((longer, LeaseRow.promised_until), else_=new.expires_at)
    values = {"granted_at": began, "expires_at": until, "revision": LeaseRow.revision + 1}
    for column in ("device", "address"):
        values[column] = new[column]
    for column in ("mac", "client_id", "hostname"):
        values[column] = func.coalesce(new[column], getattr(LeaseRow, column))
    await session.execute(statement.on_conflict_do_update(index_elements=["pair", "kind"], set_=values), rows)


async def end(session: AsyncSession, halves: Collection[tuple[int, str]], at: datetime) -> set[tuple[int, str]]:
    """End leases, by pair and kind, and return those ended. A lease that a controller has promised for longer stays."""
    ended: set[tuple[int, str]] = set()
    free = LeaseRow.promised_until.is_(None) | (LeaseRow.promised_until <= at)
    for kind in ("md", "vm"):
        if over := [pair for pair, of in halves if of == kind]:
            gone = delete(LeaseRow).where(LeaseRow.kind == kind, LeaseRow.pair.in_(over), free)
            ended |= {(pair, kind) for pair in await session.scalars(gone.returning(LeaseRow.pair))}
    return ended


async def at_address(session: AsyncSession, endpoint: str, address: str) -> LeaseRow | None:
    """Return the lease on an address, expired or not."""
    query = select(LeaseRow).where(LeaseRow.endpoint == endpoint, LeaseRow.address == address)
    row: LeaseRow | None = await session.scalar(query)
    return row


async def apart(session: AsyncSession, endpoints: Iterable[str], at: datetime) -> list[Apart]:
    """Return devices whose MD has a lease at one of the endpoints and whose VM has one at another endpoint."""
    md, vm = aliased(LeaseRow), aliased(LeaseRow)
    query = (
        select(md.device, md.endpoint, vm.endpoint)
        .join(vm, and_(vm.device == md.device, vm.kind == "vm", vm.endpoint != md.endpoint, vm.expires_at > at))
        .where(md.kind == "md", md.expires_at > at)
    )
    found: list[Apart] = []
    for some in _some(endpoints):
        found += [Apart(*row) for row in await session.execute(query.where(md.endpoint.in_(some)))]
    return found


async def held(session: AsyncSession, endpoints: Iterable[str], at: datetime) -> list[HeldLease]:
    """Return all leases at these endpoints that have not expired."""
    found: list[HeldLease] = []
    columns = select(LeaseRow.endpoint, LeaseRow.device, LeaseRow.kind, LeaseRow.address)
    for some in _some(endpoints):
        rows = await session.execute(columns.where(LeaseRow.endpoint.in_(some), LeaseRow.expires_at > at))
        found += [HeldLease(*row) for row in rows]
    return found


def _some(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield as many names at a time as any database takes in a statement."""
    every = sorted(names)
    return (every[at : at + 500] for at in range(0, len(every), 500))


async def with_one_client_id(session: AsyncSession, at: datetime, limit: int) -> list[tuple[LeaseRow, LeaseRow]]:
    """Return leases of one device at two endpoints that have one client id and two MACs, and have not expired."""
    other = aliased(LeaseRow)
    same = (other.device == LeaseRow.device, other.kind == LeaseRow.kind, other.client_id == LeaseRow.client_id)
    differ = (other.endpoint > LeaseRow.endpoint, other.mac != LeaseRow.mac)
    query = select(LeaseRow, other).join(other, and_(*same, *differ)).where(LeaseRow.expires_at > at)
    rows = await session.execute(query.where(other.expires_at > at).order_by(LeaseRow.id, other.id).limit(limit))
    return [(one, another) for one, another in rows]


async def page(
    session: AsyncSession, after: int, limit: int, at: datetime, endpoint: str | None, device: str | None
) -> list[LeaseRow]:
    """Return up to `limit` leases that have not expired, by id."""
    query = select(LeaseRow).where(LeaseRow.id > after, LeaseRow.expires_at > at).order_by(LeaseRow.id).limit(limit)
    if endpoint is not None:
        query = query.where(LeaseRow.endpoint == endpoint)
    if device is not None:
        query = query.where(LeaseRow.device == device)
    return list(await session.scalars(query))


async def at_lans(session: AsyncSession, endpoints: Collection[str], at: datetime) -> list[tuple[str, str, str, str]]:
    """Return endpoint, device, kind and address of the leases at these LANs that have not expired."""
    query = select(LeaseRow.endpoint, LeaseRow.device, LeaseRow.kind, LeaseRow.address)
    rows = await session.execute(query.where(LeaseRow.endpoint.in_(endpoints), LeaseRow.expires_at > at))
    return [(endpoint, device, kind, address) for endpoint, device, kind, address in rows]


async def any_expired(session: AsyncSession, at: datetime) -> bool:
    """Return whether there is a lease whose time is over."""
    return await session.scalar(select(LeaseRow.id).where(LeaseRow.expires_at <= at).limit(1)) is not None


async def remove_expired(session: AsyncSession, at: datetime, limit: int = 500) -> list[LeaseRow]:
    """Remove leases whose time is over, and return them. One that is renewed at the same moment stays, because the time
    is checked again after the other transaction."""
    found = select(LeaseRow.id).where(LeaseRow.expires_at <= at).order_by(LeaseRow.expires_at).limit(limit)
    gone = delete(LeaseRow).where(LeaseRow.id.in_(found), LeaseRow.expires_at <= at).returning(LeaseRow)
    return list(await session.scalars(gone))


async def remove(session: AsyncSession, lease: LeaseRow) -> bool:
    """End the lease; return False if another transaction already has."""
    gone = await session.execute(delete(LeaseRow).where(LeaseRow.id == lease.id).returning(LeaseRow.id))
    return gone.first() is not None
