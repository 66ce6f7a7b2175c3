"""The text in force on which an operator's text is based: entity tags, marks of plans, and the refusal of a text whose
base is no longer in force."""

import hashlib
import json
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags
from controller.core.unified_diff import unified
from controller.db.applied_texts import AppliedText, AppliedTexts
from controller.runtime.problems import Problem

R = TypeVar("R", bound=AppliedText)


def etag(row: AppliedText | None) -> str:
    """Return the entity tag of the text in force. There is one even before the first text."""
    return '"0-0"' if row is None else etags.etag(row)


def mark(generation: int, said: object) -> str:
    """Return the mark of a plan: the generation at which it was made, and a digest of its content, as plain data."""
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return f"{generation}-{digest[:12]}"


def alike(one: str, other: str) -> bool:
    """Return whether two marks are of plans with the same content, made at any generation."""
    return one.partition("-")[2] == other.partition("-")[2]


async def check_base(
    session: AsyncSession, texts: AppliedTexts[R], noun: str, row: R | None, base: str | None, back_to: int | None
) -> None:
    """Raise Problem if `row`, the text in force, is not the one with the entity tag `base`: another came first. The
    problem names its operator, and shows the difference from the text that this one is based on. `back_to`: this one
    brings an earlier revision back."""
    if base is None or base.strip() in ("*", etag(row)):
        return
    by = f", by {row.applied_by}" if row and row.applied_by else ""
    there = f"revision {row.id} ({row.filename}, {row.applied_at:%Y-%m-%d %H:%M:%S} UTC{by})" if row else "none"
    detail = f"Another {noun} has come into force meanwhile: {there}."
    known = await _with_tag(session, texts, base)
    if known is None and base.strip() != etag(None):
        raise Problem(412, f"{detail} Yours is based on one that was never in force here. Plan again.")
    number, text = (known.id, known.text) if known else (0, "")
    mine = f"revision {number}" if known else "none"
    told = f"{detail} Yours is based on {mine}: bring the changes of the diff into yours, and plan again."
    if back_to is not None:
        told = f"{detail} This was to go back from {mine}: see by the diff whether it is still to be."
    current, last = (row.text, row.id) if row else ("", 0)
    raise Problem(412, told, diff=unified(text, current, f"revision {number}", f"revision {last}"))


async def _with_tag(session: AsyncSession, texts: AppliedTexts[R], tag: str) -> R | None:
    number = tag.strip().strip('"').rpartition("-")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        return None
    row = await texts.get(session, int(number))
    return row if row is not None and etag(row) == tag.strip() else None
