"""Why a request cannot be done. Raised by pure decisions, turned into problem details at the API's edge."""

from collections.abc import Collection
from typing import Literal

from controller.core.words import few, meant, near

Kind = Literal["invalid", "conflict", "missing"]


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """`invalid`: wrong in itself; `conflict`: at odds with what is there; `missing`: the thing addressed is not there.

    `field` is the request's field at fault, in dotted form; None where the request as a whole is at fault. `suggestion`
    is what probably should stand there instead.
    """

    def __init__(self, kind: Kind, message: str, field: str | None = None, suggestion: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field
        self.suggestion = suggestion


def invalid(field: str, message: str) -> Refused:
    """The value of `field` can never be right."""
    return Refused("invalid", message, field)


def conflict(message: str, field: str | None = None) -> Refused:
    """Right in itself, but at odds with what is there."""
    return Refused("conflict", message, field)


def unknown(field: str, noun: str, name: str, known: Collection[str] = ()) -> Refused:
    """The value of `field` names nothing that there is. `known` are the names that the caller may learn."""
    return Refused("invalid", absent(noun, name, known), field, near(name, few(name, known)))


def missing(noun: str, name: str, known: Collection[str] = ()) -> Refused:
    """The addressed thing is not there. `known` are the names that the caller may learn."""
    return Refused("missing", absent(noun, name, known))


def absent(noun: str, name: str, known: Collection[str] = ()) -> str:
    """The sentence that nothing has this name, with one that somebody may have meant by it."""
    return f"there is no {noun} {name!r}{meant(name, few(name, known))}"
