"""The reasons why a request is refused. Pure decisions raise them; the API's edge turns them into problem details."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Literal

from controller.core.words import few, meant, near

Kind = Literal["invalid", "conflict", "missing"]


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """`invalid`: wrong in itself; `conflict`: in conflict with the present state; `missing`: the addressed thing does
    not exist.

    `field` is the request's field at fault, in dotted form; None if the request as a whole is at fault. `suggestion` is
    the value that was probably meant. `about` is the object at fault, for requests about several ones."""

    def __init__(self, kind: Kind, message: str, field: str | None = None, suggestion: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.field = field
        self.suggestion = suggestion
        self.about: str | None = None


@contextmanager
def about(name: str) -> Iterator[None]:
    """Note in refusals from inside the block that they are about the object of that name."""
    try:
        yield
    except Refused as refused:
        refused.about = refused.about or name
        raise


def invalid(field: str, message: str) -> Refused:
    """Return the refusal of a value of `field` that can never be right."""
    return Refused("invalid", message, field)


def conflict(message: str, field: str | None = None) -> Refused:
    """Return the refusal of a request that is valid in itself, but in conflict with the present state."""
    return Refused("conflict", message, field)


def unknown(field: str, noun: str, name: str, known: Collection[str] = ()) -> Refused:
    """Return the refusal of a value of `field` that names nothing. `known` are the names that the caller may learn."""
    return Refused("invalid", absent(noun, name, known), field, near(name, few(name, known)))


def missing(noun: str, name: str, known: Collection[str] = ()) -> Refused:
    """Return the refusal of a request whose addressed thing does not exist. `known` are the names that the caller may
    learn."""
    return Refused("missing", absent(noun, name, known))


def absent(noun: str, name: str, known: Collection[str] = ()) -> str:
    """Return the sentence that nothing has this name, with the name that was probably meant."""
    return f"there is no {noun} {name!r}{meant(name, few(name, known))}"
