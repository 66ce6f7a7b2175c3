"""Blocks of pair numbers, and the owner of each. A block without a row has no owner.

The tables ensure that no pair has two owners: a block has one row and so one owner, and a pair refers to its block and
the owner that it had. A pair that is added in a block of another owner refers to a row that does not exist."""

from collections.abc import Iterable

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    UniqueConstraint,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.db import engine
from controller.db.base import NAME, Base

OWN = 0
"""The epoch of the controller's own blocks."""


class BlockRow(Base):
    """`epoch` is that of the delegation that owns the block, or OWN."""

    __tablename__ = "blocks"
    __table_args__ = (
        UniqueConstraint("endpoint", "block", "epoch"),
        CheckConstraint("block >= 0", name="block"),
    )

    endpoint: Mapped[str] = mapped_column(NAME, ForeignKey("endpoints.name", ondelete="CASCADE"), primary_key=True)
    block: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    epoch: Mapped[int]


async def of(session: AsyncSession, endpoint: str, epoch: int) -> set[int]:
    """Return the blocks of one owner."""
    query = select(BlockRow.block).where(BlockRow.endpoint == endpoint, BlockRow.epoch == epoch)
    return set(await session.scalars(query))


async def owners(session: AsyncSession, endpoint: str, blocks: Iterable[int]) -> dict[int, int]:
    """Return the owners of those blocks that have one."""
    query = select(BlockRow.block, BlockRow.epoch).where(BlockRow.endpoint == endpoint, BlockRow.block.in_(set(blocks)))
    return {row[0]: row[1] for row in await session.execute(query)}


async def add(session: AsyncSession, endpoint: str, blocks: Iterable[int], epoch: int) -> None:
    """Give blocks without owner to an owner. Raises IntegrityError if another transaction was quicker."""
    if rows := [{"endpoint": endpoint, "block": block, "epoch": epoch} for block in sorted(blocks)]:
        await session.execute(insert(BlockRow), rows)


async def claim(session: AsyncSession, endpoint: str, blocks: Iterable[int], epoch: int) -> None:
    """Give blocks to an owner, whoever has them now."""
    rows = [{"endpoint": endpoint, "block": block, "epoch": epoch} for block in sorted(blocks)]
    statement = engine.insert(session, BlockRow)
    change = statement.on_conflict_do_update(
        index_elements=["endpoint", "block"], set_={"epoch": statement.excluded.epoch}
    )
    await session.execute(change, rows)


async def nobodys(session: AsyncSession, endpoint: str, below: int, limit: int, start: int = 0) -> list[int]:
    """Return up to `limit` blocks from `start` to `below` that have no owner: those after the greatest one with an
    owner or, near the end, the lowest gaps."""
    within = BlockRow.endpoint == endpoint, BlockRow.block >= start, BlockRow.block < below
    top = await session.scalar(select(func.max(BlockRow.block)).where(*within))
    fresh = list(range(start if top is None else top + 1, below)[:limit])
    if len(fresh) < limit and top is not None:
        owned = set(await session.scalars(select(BlockRow.block).where(*within)))
        gaps = (block for block in range(start, top) if block not in owned)
        fresh += [block for block, _ in zip(gaps, range(limit - len(fresh)), strict=False)]
    return fresh


async def hand_over(session: AsyncSession, endpoint: str, blocks: Iterable[int], giver: int, taker: int) -> None:
    """Give blocks, with the pairs in them, to another owner."""
    mine = BlockRow.endpoint == endpoint, BlockRow.epoch == giver, BlockRow.block.in_(set(blocks))
    await session.execute(update(BlockRow).where(*mine).values(epoch=taker))


async def return_all(session: AsyncSession, endpoint: str, epoch: int) -> None:
    """Give all blocks of an owner back to the controller."""
    mine = BlockRow.endpoint == endpoint, BlockRow.epoch == epoch
    await session.execute(update(BlockRow).where(*mine).values(epoch=OWN))


async def remove_all(session: AsyncSession, endpoint: str) -> None:
    """Take all blocks of an endpoint from their owners. None of them may have a pair."""
    await session.execute(delete(BlockRow).where(BlockRow.endpoint == endpoint))
