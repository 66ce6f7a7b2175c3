"""The right level of a misplaced key: most unknown keys are a typo, or indented wrongly."""

from collections.abc import Iterator
from typing import Any

from controller.core.words import closest


def belongs(schema: dict[str, Any], key: str, known: list[str]) -> tuple[str, str]:
    """Return the end of a sentence about an unknown key, and the key that was probably meant. `known` are the allowed
    keys at its place."""
    hint, suggestion = closest(key, known)
    if suggestion:
        return hint, suggestion
    if places := places_of(schema, key):
        return f": it belongs below {' or '.join(places)}; is it indented wrongly?", ""
    return hint, ""


def places_of(schema: dict[str, Any], key: str) -> list[str]:
    """Return the levels at which a key is allowed, such as `vcps.NAME`."""
    return [".".join(path) or "the top of the file" for path, known in _keys(schema, schema, ()) if known == key]


def _keys(schema: dict[str, Any], part: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    for key, inner in part.get("properties", {}).items():
        yield path, key
        yield from _keys(schema, inner, (*path, key))
    if isinstance(part.get("additionalProperties"), dict):
        yield from _keys(schema, part["additionalProperties"], (*path, "NAME"))
    if isinstance(part.get("items"), dict):
        yield from _keys(schema, part["items"], (*path[:-1], f"{path[-1]}[]"))
