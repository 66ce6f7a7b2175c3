"""Why a request cannot be done. Raised by pure decisions, turned into problem details at the API's edge."""

from typing import Literal

Kind = Literal["invalid", "conflict", "missing"]


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """`invalid`: wrong in itself; `conflict`: at odds with what is there; `missing`: the thing addressed is not there.

    `field` is the request's field at fault, in dotted form; None where the request as a whole is at fault.
    """

    def __init__(self, kind: Kind, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field


def invalid(field: str, message: str) -> Refused:
    """The value of `field` can never be right."""
    return Refused("invalid", message, field)


def conflict(message: str, field: str | None = None) -> Refused:
    """Right in itself, but at odds with what is there."""
    return Refused("conflict", message, field)


def missing(noun: str, name: str) -> Refused:
    """The addressed thing is not there."""
    return Refused("missing", f"there is no {noun} {name!r}")
