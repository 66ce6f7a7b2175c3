"""Moves: one migration each, with its network switchover, and a record of its steps."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    ForeignKey,
    String,
    UniqueConstraint,
    and_,
    delete,
    false,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.core.saga import Note, Phase, Saga, Step, dump, load
from controller.db.base import NAME, NUMBER, Base, Time


class MoveRow(Base):
    """`source` and `destination` are cloudlets. `live` is the VM's name while the move is under way, and None
    afterwards: a VM has one move at a time. `ahead`: the move only copies, ahead of another one. `saga` is the move's
    state (`controller.core.saga`), `revision` counts its changes. A move that is over and whose step is not `normal`
    waits for a cloudlet to remove remains."""

    __tablename__ = "moves"
    __table_args__ = (UniqueConstraint("live"),)

    name: Mapped[str] = mapped_column(NAME, primary_key=True)
    vm: Mapped[str] = mapped_column(NAME, index=True)
    device: Mapped[str] = mapped_column(NAME)
    source: Mapped[str] = mapped_column(NAME, index=True)
    destination: Mapped[str] = mapped_column(NAME, index=True)
    live: Mapped[str | None] = mapped_column(NAME, ForeignKey("vms.name"))
    state: Mapped[str] = mapped_column(String(16))
    step: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str] = mapped_column(String(1000), default="")
    asked_by: Mapped[str] = mapped_column(NAME, default="")
    ahead: Mapped[bool] = mapped_column(server_default=false(), default=False)
    saga: Mapped[dict[str, Any]] = mapped_column(JSON)
    revision: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime] = mapped_column(Time, default=now, index=True)
    changed_at: Mapped[datetime] = mapped_column(Time, default=now)
    ended_at: Mapped[datetime | None] = mapped_column(Time)

    @property
    def kept(self) -> Saga:
        """The saga, from its JSON form."""
        return load(self.saga)

    def keep(self, saga: Saga, at: datetime) -> None:
        """Store the saga as it is now."""
        over = saga.phase.over
        self.saga, self.revision, self.changed_at = dump(saga), (self.revision or 0) + 1, at
        self.state, self.step, self.reason = saga.phase, saga.step, saga.reason.replace("\0", "\ufffd")
        self.ahead = saga.plan.ahead
        self.live = None if over else self.vm
        self.ended_at = (self.ended_at or at) if over else None


class StepRow(Base):
    """A step of a move, or its undoing, with its progress: one row for every time that it was begun."""

    __tablename__ = "move_steps"

    id: Mapped[int] = mapped_column(NUMBER, primary_key=True)
    move: Mapped[str] = mapped_column(NAME, ForeignKey("moves.name", ondelete="CASCADE"), index=True)
    step: Mapped[str] = mapped_column(String(16))
    undoing: Mapped[bool] = mapped_column(default=False)
    state: Mapped[str] = mapped_column(String(16))
    detail: Mapped[str] = mapped_column(String(1000), default="")
    figures: Mapped[dict[str, Any]] = mapped_column(JSON)
    began_at: Mapped[datetime] = mapped_column(Time, default=now)
    ended_at: Mapped[datetime | None] = mapped_column(Time)


def _under_way() -> Any:
    return or_(MoveRow.live.is_not(None), MoveRow.step != Step.NORMAL)


def _at(cloudlets: Collection[str]) -> Any:
    return or_(MoveRow.source.in_(cloudlets), MoveRow.destination.in_(cloudlets))


async def get(session: AsyncSession, name: str, *, lock: bool = False) -> MoveRow | None:
    """Return the move of that name. `lock`: no other transaction changes it before this one ends."""
    return await session.get(MoveRow, name, populate_existing=True, with_for_update=lock or None)


async def under_way(session: AsyncSession) -> list[MoveRow]:
    """Return all moves that are not over, and those whose remains a cloudlet has yet to remove; the oldest first."""
    return list(await session.scalars(select(MoveRow).where(_under_way()).order_by(MoveRow.created_at, MoveRow.name)))


async def at(session: AsyncSession, cloudlet: str) -> list[MoveRow]:
    """Return the moves of `under_way` that are from or to one cloudlet."""
    query = select(MoveRow).where(_under_way(), _at([cloudlet]))
    return list(await session.scalars(query.order_by(MoveRow.created_at, MoveRow.name)))


async def of_vm(session: AsyncSession, vm: str) -> list[MoveRow]:
    """Return the moves of `under_way` of one VM."""
    return list(await session.scalars(select(MoveRow).where(_under_way(), MoveRow.vm == vm)))


async def of_device(session: AsyncSession, device: str) -> MoveRow | None:
    """Return the move that is under way because of a device."""
    query = select(MoveRow).where(MoveRow.live.is_not(None), MoveRow.device == device)
    row: MoveRow | None = await session.scalar(query)
    return row


async def latest_done(session: AsyncSession, vm: str) -> MoveRow | None:
    """Return the latest move of a VM that was done."""
    done = MoveRow.vm == vm, MoveRow.state == Phase.DONE
    row: MoveRow | None = await session.scalar(select(MoveRow).where(*done).order_by(MoveRow.ended_at.desc()).limit(1))
    return row


async def page(
    session: AsyncSession,
    before: tuple[datetime, str] | None,
    limit: int,
    vm: str | None = None,
    cloudlet: str | None = None,
    states: Collection[str] = (),
) -> list[MoveRow]:
    """Return up to `limit` moves before that one, the latest first."""
    query = select(MoveRow).order_by(MoveRow.created_at.desc(), MoveRow.name.desc()).limit(limit)
    if before is not None:
        at, name = before
        query = query.where(or_(MoveRow.created_at < at, and_(MoveRow.created_at == at, MoveRow.name < name)))
    if vm is not None:
        query = query.where(MoveRow.vm == vm)
    if cloudlet is not None:
        query = query.where(_at([cloudlet]))
    return list(await session.scalars(query.where(MoveRow.state.in_(states)) if states else query))


async def steps(session: AsyncSession, move: str) -> list[StepRow]:
    """Return the steps of a move in their order."""
    return list(await session.scalars(select(StepRow).where(StepRow.move == move).order_by(StepRow.id)))


async def note(session: AsyncSession, move: str, note: Note, at: datetime) -> None:
    """Record that a step began, or how it ended."""
    detail, figures = note.detail.replace("\0", "\ufffd"), note.figures.model_dump(exclude_none=True)
    ended = {"state": note.state, "detail": detail, "figures": figures, "ended_at": at}
    if note.state != "running":
        same = StepRow.move == move, StepRow.step == note.step, StepRow.ended_at.is_(None)
        latest = select(StepRow.id).where(*same).order_by(StepRow.id).limit(1).scalar_subquery()
        done = await session.execute(update(StepRow).where(StepRow.id == latest).values(**ended))
        if done.rowcount:  # type: ignore[attr-defined]
            return
    row = StepRow(move=move, step=note.step, undoing=note.undoing, began_at=at)
    row.state, row.detail, row.figures = note.state, detail, figures
    row.ended_at = None if note.state == "running" else at
    session.add(row)
    await session.flush()


async def close(session: AsyncSession, move: str, at: datetime) -> None:
    """Record that a move's open steps were given up."""
    open_ = StepRow.move == move, StepRow.ended_at.is_(None)
    await session.execute(update(StepRow).where(*open_).values(state="given up", ended_at=at))


async def prune(session: AsyncSession, before: datetime, spared: ColumnElement[bool]) -> None:
    """Delete moves that ended before `before`, except those that match `spared`."""
    old = MoveRow.ended_at < before, MoveRow.step == Step.NORMAL
    await session.execute(delete(MoveRow).where(*old, ~spared))


OVER = (Phase.DONE, Phase.UNDONE)
