"""Which replica each agent is connected to, and which generation it has proved there: for the other replicas."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import Text, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from controller.core.clock import now
from controller.db.base import NAME, NUMBER, Base, Time
from controller.db.engine import Lock, alone


class AgentPresenceRow(Base):
    """`replica` is None if it is connected to none. `proved` is the latest generation that its kernel was seen to agree
    with, `report` its last report (JSON)."""

    __tablename__ = "attendance"

    cloudlet: Mapped[str] = mapped_column(NAME, primary_key=True)
    replica: Mapped[str | None] = mapped_column(NAME)
    proved: Mapped[int] = mapped_column(NUMBER)
    report: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Time)


@dataclass(frozen=True)
class Seen:
    """A replica's news of one agent. `report` is None if it is unchanged."""

    connected: bool
    proved: int
    report: str | None


async def note(session: AsyncSession, replica: str, seen: Mapping[str, Seen]) -> None:
    """Write a replica's news. That an agent is not connected to this replica does not change the place of one that is
    connected to another."""
    await alone(session, Lock.ATTENDANCE)
    query = select(AgentPresenceRow.cloudlet, AgentPresenceRow.replica).where(AgentPresenceRow.cloudlet.in_(seen))
    known = {row[0]: row[1] for row in await session.execute(query)}
    moment, fresh = now(), []
    for name, of in seen.items():
        place = replica if of.connected else None
        if name not in known:
            row = {"cloudlet": name, "replica": place, "proved": of.proved, "report": of.report, "at": moment}
            fresh.append(row)
            continue
        values: dict[str, Any] = {"proved": of.proved, "at": moment}
        if of.connected or known[name] in (None, replica):
            values["replica"] = place
        if of.report is not None:
            values["report"] = of.report
        await session.execute(update(AgentPresenceRow).where(AgentPresenceRow.cloudlet == name).values(**values))
    if fresh:
        await session.execute(insert(AgentPresenceRow), fresh)


async def load(session: AsyncSession) -> dict[str, tuple[str | None, int]]:
    """Return where agents are, and what they have proved."""
    query = select(AgentPresenceRow.cloudlet, AgentPresenceRow.replica, AgentPresenceRow.proved)
    return {row[0]: (row[1], row[2]) for row in await session.execute(query)}


async def reports(session: AsyncSession, names: Iterable[str]) -> dict[str, str]:
    """Return the last reports of agents (JSON)."""
    found: dict[str, str] = {}
    left = iter(names)
    while some := list(islice(left, 1000)):
        query = select(AgentPresenceRow.cloudlet, AgentPresenceRow.report).where(AgentPresenceRow.cloudlet.in_(some))
        found |= {name: report for name, report in await session.execute(query) if report is not None}
    return found


async def clear(session: AsyncSession, replica: str) -> None:
    """Record that no agent is connected to this replica: it has just started, or reports all of them again."""
    await alone(session, Lock.ATTENDANCE)
    await session.execute(update(AgentPresenceRow).where(AgentPresenceRow.replica == replica).values(replica=None))


async def forget(session: AsyncSession, names: Collection[str]) -> None:
    """Remove the rows of cloudlets that are gone."""
    await session.execute(delete(AgentPresenceRow).where(AgentPresenceRow.cloudlet.in_(names)))
