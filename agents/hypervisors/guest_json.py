"""JSON that a guest wrote. A guest is foreign: its owner says what the programs in it answer. Pure."""

import json
from typing import Any, NoReturn

from agents.hypervisors.hypervisor import HypervisorError

SIGNS = 512
"""Brackets, braces, commas and quotes in one answer, of each: no answer that is asked for has half as many. That bounds
its depth, and the objects that its text can become, before it is read."""

_SHOWN = 80  # characters of a wrong answer that people see


def guest_object(text: str, longest: int) -> dict[str, Any]:
    """Return the object that the text is, of at most `longest` characters. Raises HypervisorError whatever else the
    guest wrote: its text continues a sentence about who answered."""
    if len(text) > longest:
        raise HypervisorError(f"answered {len(text)} characters, and {longest} are taken")
    if any(text.count(sign) > SIGNS for sign in '[{,"'):
        raise HypervisorError(f"answered {shown(text)}, which has more than {SIGNS} parts")
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # also of a number with thousands of digits
        raise HypervisorError(f"answered {shown(text)}, which is no JSON") from None
    if not isinstance(found, dict):
        raise HypervisorError(f"answered {shown(text)}, which is no object")
    return found


def shown(value: object) -> str:
    """Return the beginning of something foreign, for people: printable, whatever it was."""
    text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def printable(text: str, longest: int) -> str:
    """Return the beginning of foreign words as they are, but for what a terminal or a log would obey."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
