"""Plain data as YAML. `document.read` reads the text as the same data, and users find it as they would have written it:
a line for each value, a list on one line, quotes only where they are needed."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.yaml_document.document import UNPRINTABLE

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*(:[A-Za-z0-9_./+@-]+)*|([0-9]+\.){3}[0-9]+(/[0-9]+)?|[0-9]+[KMGT]")
_OTHERS = re.compile("y|n|yes|no|on|off|true|false|null", re.IGNORECASE)
"""Words that are no text to readers of YAML 1.1."""

_ESCAPED = re.compile("['\t\n]")
INDENT = "  "


class CannotBeWritten(ValueError):  # noqa: N818 - it says what is
    """Data with a character that no document can have. The message names it, and where it is."""


def written(data: Mapping[str, Any]) -> str:
    """Return the text of a document. `data` is made of mappings, lists or tuples, texts, numbers, true and false; it
    has no None, as a document leaves out what is not set. Raises CannotBeWritten."""
    return "\n".join(_mapping(data, "", ()) if data else ["{}"]) + "\n"


def _mapping(data: Mapping[str, Any], indent: str, path: tuple[str, ...]) -> Iterator[str]:
    for key, value in data.items():
        here = (*path, key)
        name = f"{indent}{_text(key, here)}:"
        if isinstance(value, Mapping) and value:
            yield name
            yield from _mapping(value, indent + INDENT, here)
        elif isinstance(value, list | tuple):
            yield f"{name} [{', '.join(_scalar(item, here, flow=True) for item in value)}]"
        else:
            yield f"{name} {'{}' if isinstance(value, Mapping) else _scalar(value, here)}"


def _scalar(value: object, path: tuple[str, ...], *, flow: bool = False) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value, path, flow=flow)
    raise TypeError(f"{'.'.join(path)}: {value!r} has no form in a document")


def _text(text: str, path: tuple[str, ...], *, flow: bool = False) -> str:
    """Return text in the form that every reader takes as text: in quotes if the plain form might be a number, a time or
    another value, or if `flow` and it has a colon."""
    if bad := UNPRINTABLE.search(text):
        raise CannotBeWritten(f"{'.'.join(path)} has the character {bad[0]!r}, which no document can have")
    if _PLAIN.fullmatch(text) and not _OTHERS.fullmatch(text) and not (flow and ":" in text):
        return text
    return json.dumps(text, ensure_ascii=False) if _ESCAPED.search(text) else f"'{text}'"
