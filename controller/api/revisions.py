"""Revisions of texts that operators apply, of policies and of inventories: all that were applied, and the difference
between two."""

from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import pages
from controller.api.based_on import etag
from controller.core.refusals import conflict, missing
from controller.core.unified_diff import unified
from controller.db.applied_texts import AppliedText, AppliedTexts
from controller.db.engine import Database

R = TypeVar("R", bound=AppliedText)
MOST = 2**31 - 1
Number = Annotated[int, Path(ge=1, le=MOST, description="A number of a revision.")]
Before = Annotated[int, Query(ge=1, le=MOST)]
After = Annotated[int | None, Query(ge=1, le=MOST, description="By default the one in force.")]


class AppliedRevision(BaseModel):
    """A text as it was applied, and by whom. `in_force`: it is the present one; `withdrawn_at`: its change was rolled
    back."""

    revision: int
    filename: str
    generation: int
    applied_at: datetime
    applied_by: str | None
    note: str
    withdrawn_at: datetime | None
    in_force: bool


class TextInForce(BaseModel):
    """The text that was applied last; empty before the first. `back_to` is the revision that a rollback without a
    revision goes to, null if there is none. With `etag` as `If-Match`, a rollback goes back from this one or does
    nothing."""

    revision: int | None
    etag: str
    back_to: int | None
    filename: str | None
    text: str
    generation: int | None
    applied_at: datetime | None


class RevisionDifference(BaseModel):
    """The difference between two revisions, in the form of `diff -u`; empty if the texts are the same."""

    before: int
    after: int
    diff: str


async def listed(
    database: Database, texts: AppliedTexts[R], limit: int, cursor: str | None
) -> tuple[list[R], R | None]:
    """Return the rows of a page and one more, the latest first, and the row in force."""
    below = pages.after_number(cursor) if cursor is not None else None
    async with database.read() as session:
        return await texts.page(session, below, limit + 1), await texts.latest(session)


async def in_force(database: Database, texts: AppliedTexts[R]) -> dict[str, Any]:
    """Return the fields of the text in force (`TextInForce`)."""
    async with database.read() as session:
        row = await texts.latest(session)
        back = await texts.previous(session, row) if row else None
    return {
        "revision": row.id if row else None,
        "etag": etag(row),
        "back_to": back.id if back else None,
        "filename": row.filename if row else None,
        "text": row.text if row else "",
        "generation": row.generation if row else None,
        "applied_at": row.applied_at if row else None,
    }


async def difference(database: Database, texts: AppliedTexts[R], before: int, after: int | None) -> RevisionDifference:
    """Return the difference between two revisions, the second by default the one in force."""
    async with database.read() as session:
        one = await row_of(session, texts, before)
        other = await texts.latest(session) if after is None else await row_of(session, texts, after)
    number, text = (other.id, other.text) if other else (0, "")
    diff = unified(one.text, text, f"revision {before}", f"revision {number}")
    return RevisionDifference(before=before, after=number, diff=diff)


async def to_go_back_to(
    session: AsyncSession, texts: AppliedTexts[R], noun: str, revision: int | None, if_match: str | None
) -> tuple[R, str | None]:
    """Return the row that a rollback brings back, by default the last with another text, and the entity tag that the
    text in force must have."""
    if revision is not None:
        return await row_of(session, texts, revision), if_match
    latest = await texts.latest(session)
    row = await texts.previous(session, latest) if latest else None
    if row is None:
        raise conflict(f"no other {noun} was in force before: there is nothing to go back to")
    return row, if_match or etag(latest)  # from another text, the rollback would go to another revision


async def row_of(session: AsyncSession, texts: AppliedTexts[R], revision: int) -> R:
    """Return a revision. Raises Refused if there is none of that number."""
    row = await texts.get(session, revision)
    if row is None:
        raise missing("revision", str(revision))
    return row


def shown(row: AppliedText, latest: AppliedText | None) -> dict[str, Any]:
    """Return the values of a revision in the API's form."""
    fields = ("filename", "generation", "applied_at", "applied_by", "note", "withdrawn_at", "summary")
    return {name: getattr(row, name) for name in fields} | {
        "revision": row.id,
        "in_force": latest is not None and latest.id == row.id,
    }
