"""Lists in pages. A cursor names the last item of a page, so no item is skipped or repeated if the list changes between
two pages."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from controller.runtime.problems import FieldError, Problem

T = TypeVar("T")
Row = TypeVar("Row")

Limit = Annotated[int, Query(ge=1, le=1000, description="How many items at most.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.")]


class Page(BaseModel, Generic[T]):
    """One page of a list. `next` is the cursor of the following page; null at the end."""

    items: list[T]
    next: str | None = None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Return the name of a page of these items in the description of the API."""
        return f"{params[0].__name__}Page"


def after(cursor: str | None) -> str:
    """Return the key of the last item of the page before; empty at the beginning. Raises Problem."""
    if cursor is None:
        return ""
    try:
        key = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        key = ""
    if not key or not key.isprintable():
        raise not_ours()
    return key


def write_cursor(key: str) -> str:
    """Return the cursor that `after` decodes to this key."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def after_pair(cursor: str | None) -> tuple[str, str]:
    """Return the same as `after`, for items with two names as their key, separated by a space."""
    key = after(cursor)
    one, space, other = key.partition(" ")
    if key and not space:
        raise not_ours()
    return one, other


def after_number(cursor: str | None) -> int:
    """Return the same as `after`, for numbered items."""
    key = after(cursor) or "0"
    if not (key.isascii() and key.isdigit() and len(key) < 19):
        raise not_ours()
    return int(key)


def after_moment(cursor: str | None) -> tuple[datetime, str] | None:
    """Return the same as `after`, for items with a time and a name as their key, separated by a space; None at the
    beginning."""
    if not (key := after(cursor)):
        return None
    at, _, name = key.partition(" ")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not name:
        raise not_ours()
    return moment, name


def not_ours() -> Problem:
    """Return the problem of a cursor that no page has given."""
    return Problem(
        422, "The cursor is not from an answer of this API.", [FieldError(field="cursor", message="not a cursor")]
    )


def page(rows: Sequence[Row], limit: int, key: Callable[[Row], object], item: Callable[[Row], T]) -> Page[T]:
    """Return a page of at most `limit` items out of `limit + 1` rows."""
    shown = rows[:limit]
    more = len(rows) > limit
    cursor = write_cursor(str(key(shown[-1]))) if more else None
    return Page(items=[item(row) for row in shown], next=cursor)
