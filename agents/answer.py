"""Answers of other programs, taken as what they ought to be: whatever else they are is one kind of error. Pure.

Each door has an error of its own, and puts in front of this text who answered, and to what.
"""

import json
from typing import Any, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

LONGEST = 1 << 26
"""Characters of one answer of a program of this host: its tables have some thousand entries."""

_SHOWN = 80  # characters of a wrong answer that people see

T = TypeVar("T")


class Unreadable(Exception):  # noqa: N818 - a state
    """An answer is not what it ought to be. The text continues a sentence about who answered to what."""


def read_json(form: TypeAdapter[T], text: str | bytes, longest: int = LONGEST) -> T:
    """Return the text as `form` describes it. Raises Unreadable."""
    return read(form, document(text, longest))


def document(text: str | bytes, longest: int) -> Any:
    """Return what the text is as JSON. Raises Unreadable if it is longer, too deep, or no JSON."""
    if len(text) > longest:
        raise Unreadable(f"cannot be read: it has {len(text)} characters, and {longest} are taken")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # also of a number with thousands of digits
        raise Unreadable(f"cannot be read: {shown(text)} is no JSON") from None


def read(form: TypeAdapter[T], found: object) -> T:
    """Return what was found as `form` describes it: a number is no text, and what is not described is left out. Raises
    Unreadable, with the first place where it is something else."""
    try:
        return form.validate_python(found, strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        raise Unreadable(f"cannot be read: {printable(where, _SHOWN)}: {first['msg']}") from None
    except RecursionError:
        raise Unreadable("cannot be read: it is too deep") from None


def shown(value: object) -> str:
    """Return the beginning of something foreign, for people: printable, whatever it was."""
    text = repr(value[: _SHOWN + 1] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def printable(text: str, longest: int) -> str:
    """Return the beginning of foreign words as they are, but for what a terminal or a log would obey."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
