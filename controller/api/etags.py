"""Entity tags (RFC 9110, section 8.8.3) and `If-Match`: a change made on an outdated view is refused."""

from datetime import datetime
from typing import Annotated, Protocol

from fastapi import Header

from controller.runtime.problems import Problem

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=1000,
        description="Entity tags of which the object must have one, or `*`.",
        examples=['"65f1c3-2"'],
    ),
]

ETAG = {"ETag": {"description": "The object's entity tag.", "schema": {"type": "string"}}}


class Revised(Protocol):
    """A row that counts its changes."""

    @property
    def revision(self) -> int:
        """The number of the object's changes, or of its revision."""


def etag(row: Revised) -> str:
    """Return the entity tag of an object. It changes with every change, and if the object is made again under the same
    name."""
    born: datetime = getattr(row, "created_at", None) or row.granted_at  # type: ignore[attr-defined]
    return f'"{int(born.timestamp() * 1_000_000):x}-{row.revision}"'


def check(row: Revised | None, if_match: str | None) -> None:
    """Raise the problem 412 if the caller's view of the object is not its present state. The caller of this function
    reports an object that does not exist."""
    if if_match is None or row is None or if_match.strip() == "*":
        return
    if etag(row) not in [tag.strip() for tag in if_match.split(",")]:
        raise Problem(412, f"It was changed meanwhile: its entity tag is now {etag(row)}.")
