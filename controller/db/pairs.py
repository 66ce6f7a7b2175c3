"""Pairs: which device has which pair of a LAN. A pair outlives its leases, so that a device that returns gets its old
one back. It is taken away only when another device needs it and no lease of it can exist."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    UniqueConstraint,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.blocks import SIZE
from controller.core.clock import now
from controller.db import blocks, devices
from controller.db.base import NAME, NUMBER, Base, Time
from controller.db.leases import LeaseRow


class PairRow(Base):
    """`number` counts the plan's pairs from 0. `block` and `epoch` are its block and the block's owner; `lent` is
    another delegation that may lease from it. `used_at` is when the controller last granted or renewed a lease,
    `held_until` how long the pair is reserved. Without a device: static hosts have its addresses."""

    __tablename__ = "pairs"
    __table_args__ = (
        UniqueConstraint("endpoint", "number"),
        UniqueConstraint("endpoint", "device"),
        CheckConstraint(f"block = number / {SIZE}", name="block"),
        ForeignKeyConstraint(
            ["endpoint", "block", "epoch"],
            ["blocks.endpoint", "blocks.block", "blocks.epoch"],
            name="fk_pairs_endpoint_block_epoch",
            onupdate="CASCADE",
        ),
    )

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name"))
    device: Mapped[str | None] = mapped_column(NAME, ForeignKey("devices.name"), index=True)
    number: Mapped[int] = mapped_column(BigInteger)
    block: Mapped[int] = mapped_column(BigInteger)
    epoch: Mapped[int]
    lent: Mapped[int | None]
    used_at: Mapped[datetime] = mapped_column(Time, default=now)
    held_until: Mapped[datetime | None] = mapped_column(Time)


async def of(session: AsyncSession, endpoint: str, device: str) -> PairRow | None:
    """Return the pair that a device has, or had last, at an endpoint."""
    query = select(PairRow).where(PairRow.endpoint == endpoint, PairRow.device == device)
    row: PairRow | None = await session.scalar(query)
    return row


async def of_devices(session: AsyncSession, endpoint: str, devices: Collection[str]) -> dict[str, PairRow]:
    """Return the pairs that devices have at an endpoint, by device. They stay theirs until the transaction ends."""
    if not devices:
        return {}
    query = select(PairRow).where(PairRow.endpoint == endpoint, PairRow.device.in_(devices)).order_by(PairRow.id)
    query = query.with_for_update().execution_options(populate_existing=True)
    return {row.device: row for row in await session.scalars(query) if row.device is not None}


async def numbers_of(session: AsyncSession, endpoint: str, devices: Collection[str]) -> dict[str, int]:
    """Return the numbers of the pairs that devices have at an endpoint, by device, as they are now."""
    query = select(PairRow.device, PairRow.number).where(PairRow.endpoint == endpoint, PairRow.device.in_(devices))
    return {device: number for device, number in await session.execute(query) if device is not None}


async def devices_at(session: AsyncSession, endpoint: str) -> set[str]:
    """Return every device that has a pair at an endpoint."""
    query = select(PairRow.device).where(PairRow.endpoint == endpoint, PairRow.device.is_not(None))
    return {name for name in await session.scalars(query) if name is not None}


async def numbered(session: AsyncSession, endpoint: str, numbers: Collection[int]) -> dict[int, PairRow]:
    """Return those of the pairs that are not free, by number."""
    if not numbers:
        return {}
    query = select(PairRow).where(PairRow.endpoint == endpoint, PairRow.number.in_(numbers))
    return {row.number: row for row in await session.scalars(query)}


async def taken(session: AsyncSession, endpoint: str, blocks: Collection[int]) -> set[int]:
    """Return the numbers of the pairs in those blocks that are not free."""
    query = select(PairRow.number).where(PairRow.endpoint == endpoint, PairRow.block.in_(blocks))
    return set(await session.scalars(query))


def unlent() -> ColumnElement[bool]:
    """Return the condition for pairs from which no agent can lease."""
    return and_(PairRow.epoch == blocks.OWN, PairRow.lent.is_(None))


def lent_to(epoch: int) -> ColumnElement[bool]:
    """Return the condition for pairs from which this delegation can lease."""
    return or_(PairRow.epoch == epoch, PairRow.lent == epoch)


async def idle(session: AsyncSession, endpoint: str, at: datetime) -> PairRow | None:
    """Return the pair of a device that has been without a lease for longest, is not reserved, and from which no agent
    can lease."""
    leased = exists().where(LeaseRow.pair == PairRow.id, LeaseRow.expires_at > at)
    held = PairRow.held_until.is_not(None) & (PairRow.held_until > at)
    there = PairRow.endpoint == endpoint, PairRow.device.is_not(None)
    query = select(PairRow).where(*there, unlent(), ~leased, ~held).order_by(PairRow.used_at, PairRow.id).limit(1)
    row: PairRow | None = await session.scalar(query)
    return row


async def at_number(session: AsyncSession, endpoint: str, number: int) -> PairRow | None:
    """Return the pair of that number, None if it is free."""
    query = select(PairRow).where(PairRow.endpoint == endpoint, PairRow.number == number)
    row: PairRow | None = await session.scalar(query)
    return row


async def reserved(session: AsyncSession, id: int, at: datetime) -> PairRow | None:
    """Return the pair of that id, if it is reserved."""
    row = await session.get(PairRow, id, populate_existing=True)
    return row if row is not None and row.held_until is not None and row.held_until > at else None


async def page_reserved(
    session: AsyncSession, after: int, limit: int, at: datetime, endpoint: str | None, device: str | None
) -> list[PairRow]:
    """Return up to `limit` pairs that are reserved, by id."""
    query = select(PairRow).where(PairRow.id > after, PairRow.held_until > at).order_by(PairRow.id).limit(limit)
    if endpoint is not None:
        query = query.where(PairRow.endpoint == endpoint)
    if device is not None:
        query = query.where(PairRow.device == device)
    return list(await session.scalars(query))


async def remove(session: AsyncSession, id: int) -> None:
    """Free a pair that static hosts had."""
    await session.execute(delete(PairRow).where(PairRow.id == id))


async def give(
    session: AsyncSession,
    endpoint: str,
    device: str | None,
    number: int,
    epoch: int = blocks.OWN,
    lent: int | None = None,
) -> PairRow:
    """Give a free pair to a device, or to static hosts. A block without owner becomes the controller's own. Raises
    IntegrityError if the pair is not free, or if its block has another owner."""
    block = number // SIZE
    if epoch == blocks.OWN and not await blocks.owners(session, endpoint, [block]):
        await blocks.add(session, endpoint, [block], blocks.OWN)
    pair = PairRow(endpoint=endpoint, device=device, number=number, block=block, epoch=epoch, lent=lent)
    session.add(pair)
    await session.flush()
    return pair


async def lend(session: AsyncSession, pairs: Collection[int], epoch: int) -> None:
    """Let a delegation lease from these pairs; they are not taken away before its agent agrees."""
    lent = update(PairRow).where(PairRow.id.in_(pairs), PairRow.lent.is_distinct_from(epoch))
    await session.execute(lent.values(lent=epoch))


async def lend_all(session: AsyncSession, endpoint: str, epoch: int) -> None:
    """Call `lend` for every pair of an endpoint."""
    await session.execute(update(PairRow).where(PairRow.endpoint == endpoint).values(lent=epoch))


async def rooms(session: AsyncSession, endpoint: str, limit: int, below: int | None = None) -> list[int]:
    """Return up to `limit` of the controller's own blocks that have free pairs."""
    row = blocks.BlockRow
    used = select(func.count()).where(PairRow.endpoint == row.endpoint, PairRow.block == row.block)
    mine = row.endpoint == endpoint, row.epoch == blocks.OWN, used.scalar_subquery() < SIZE
    query = select(row.block).where(*mine).order_by(row.block).limit(limit)
    return list(await session.scalars(query if below is None else query.where(row.block < below)))


async def drop_empty(session: AsyncSession, endpoint: str) -> None:
    """Give up the controller's own blocks that have no pairs."""
    row = blocks.BlockRow
    used = exists().where(PairRow.endpoint == row.endpoint, PairRow.block == row.block)
    await session.execute(delete(row).where(row.endpoint == endpoint, row.epoch == blocks.OWN, ~used))


async def unlend(session: AsyncSession, endpoint: str, blocks: Collection[int]) -> None:
    """Record that the agent has forgotten the pairs in these blocks."""
    there = PairRow.endpoint == endpoint, PairRow.block.in_(blocks)
    await session.execute(update(PairRow).where(*there).values(lent=None))


async def add_all(session: AsyncSession, rows: list[dict[str, Any]]) -> None:
    """Add pairs, many at once; as `give`."""
    if rows:
        at = now()
        await session.execute(insert(PairRow), [row | {"used_at": at} for row in rows])


async def take(session: AsyncSession, pairs: Collection[int]) -> None:
    """Take pairs from their devices, with all leases on them."""
    await session.execute(delete(LeaseRow).where(LeaseRow.pair.in_(pairs)))
    await session.execute(delete(PairRow).where(PairRow.id.in_(pairs)))


async def take_all(session: AsyncSession, endpoint: str, at: datetime) -> None:
    """Free all pairs of an endpoint. Raises IntegrityError if one of them has a lease or a static host."""
    await session.execute(delete(LeaseRow).where(LeaseRow.endpoint == endpoint, LeaseRow.expires_at <= at))
    await session.execute(delete(PairRow).where(PairRow.endpoint == endpoint))


async def take_idle(
    session: AsyncSession, pairs: Collection[int], at: datetime, *still: ColumnElement[bool]
) -> set[int]:
    """Take pairs from their devices if they have no lease and no reservation, and the conditions `still` hold; return
    those taken. The rows are locked during the check. Every transaction locks a pair before it grants a lease on it or
    tells an agent of it, so a pair that a device has come back to stays. A lease that is renewed even now refers to its
    pair, and the database does not delete that pair."""
    if not pairs:
        return set()
    rows = select(PairRow.id, PairRow.held_until).where(PairRow.id.in_(pairs), *still).order_by(PairRow.id)
    rows = rows.with_for_update()
    idle = {id for id, until in await session.execute(rows) if until is None or until <= at}
    leased = select(LeaseRow.pair).where(LeaseRow.pair.in_(idle), LeaseRow.expires_at > at)
    idle -= set(await session.scalars(leased))
    await session.execute(delete(LeaseRow).where(LeaseRow.pair.in_(idle), LeaseRow.expires_at <= at))
    await session.execute(delete(PairRow).where(PairRow.id.in_(idle)))
    return idle


async def hold_lent(session: AsyncSession, endpoint: str, until: datetime) -> None:
    """Keep the pairs of the controller's own blocks from which an agent may have leased with their devices until
    then."""
    lent = PairRow.endpoint == endpoint, PairRow.epoch == blocks.OWN, PairRow.lent.is_not(None)
    sooner = PairRow.held_until.is_(None) | (PairRow.held_until < until)
    await session.execute(update(PairRow).where(*lent, sooner).values(held_until=until))


async def touch(session: AsyncSession, pair: PairRow, at: datetime) -> bool:
    """Record that the pair was used, which locks it; return False if it does not exist any more."""
    touched = update(PairRow).where(PairRow.id == pair.id).values(used_at=at).returning(PairRow.id)
    return await session.scalar(touched) is not None


async def of_device(session: AsyncSession, device: str) -> list[PairRow]:
    """Return all pairs of a device."""
    return list(await session.scalars(select(PairRow).where(PairRow.device == device)))


async def hand_over(session: AsyncSession, giver: str, taker: str, pairs: Collection[int] | None = None) -> None:
    """Give pairs and leases of a device, all of them if none are named, to another that has none."""
    leases, mine = update(LeaseRow).where(LeaseRow.device == giver), update(PairRow).where(PairRow.device == giver)
    if pairs is not None:
        leases, mine = leases.where(LeaseRow.pair.in_(pairs)), mine.where(PairRow.id.in_(pairs))
    await session.execute(leases.values(device=taker))
    await session.execute(mine.values(device=taker))


async def leave(session: AsyncSession, device: str) -> None:
    """Take all pairs from a device that is to be removed. A pair in the controller's own block from which an agent may
    lease goes to a device without a name instead, because it may be in use."""
    await session.execute(select(PairRow.id).where(PairRow.device == device).order_by(PairRow.id).with_for_update())
    lent = {pair.id for pair in await of_device(session, device) if pair.epoch == blocks.OWN and pair.lent is not None}
    for pair in lent:
        name = devices.nameless()
        devices.add(session, name, implicit=True)
        await session.flush()
        await hand_over(session, device, name, {pair})
    await take(session, [pair.id for pair in await of_device(session, device)])


async def tidy(session: AsyncSession, names: Collection[str]) -> None:
    """Delete implicit devices that have no pair any more."""
    await devices.forget_unused(session, names, exists().where(PairRow.device == devices.DeviceRow.name))
