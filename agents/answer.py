"""Answers of other programs, checked against the form that they ought to have. Any other answer raises Unreadable.
Pure.

Each caller turns Unreadable into its own error, and puts in front of the text who answered, and to what.
"""

import json
from typing import Any, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

LONGEST = 1 << 26
"""Most characters in one answer of a program on this host. Its tables have some thousand entries."""

_SHOWN = 80  # characters of a wrong answer that users see

T = TypeVar("T")


class Unreadable(Exception):  # noqa: N818 - a state
    """An answer does not have the form that it ought to have. The text continues a sentence that says who answered to
    what."""


def read_json(form: TypeAdapter[T], text: str | bytes, longest: int = LONGEST) -> T:
    """Return the text's JSON value as `form` describes it. Raises Unreadable."""
    return read(form, document(text, longest))


def document(text: str | bytes, longest: int) -> Any:
    """Return the text's JSON value. Raises Unreadable if the text is longer than `longest`, nested too deep, or not
    JSON."""
    if len(text) > longest:
        raise Unreadable(f"cannot be read: it has {len(text)} characters, and {longest} are taken")
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # ValueError also for a number with thousands of digits
        raise Unreadable(f"cannot be read: {shown(text)} is not JSON") from None


def read(form: TypeAdapter[T], found: object) -> T:
    """Return `found` as `form` describes it: a number does not pass for a text, and fields that `form` does not
    describe are left out. Raises Unreadable, which names the first place that does not match."""
    try:
        return form.validate_python(found, strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        raise Unreadable(f"cannot be read: {printable(where, _SHOWN)}: {first['msg']}") from None
    except RecursionError:
        raise Unreadable("cannot be read: it is too deep") from None


def shown(value: object) -> str:
    """Return the beginning of a foreign value for users, in printable characters only."""
    text = repr(value[: _SHOWN + 1] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def printable(text: str, longest: int) -> str:
    """Return the beginning of a foreign text, with a space for each character that a terminal or a log would
    interpret."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
