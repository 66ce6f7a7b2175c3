"""The alternatives of a JSON schema: references are followed, and unions are taken apart, so that each alternative has
one type."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

ANY = "any"
"""The type of an alternative that takes every value."""

NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", list: "array"}
"""JSON's name of each type of Python."""


@dataclass(frozen=True)
class Alternative:
    """One alternative: its type, its values in JSON if only some are allowed, and its schema."""

    type: str
    values: frozenset[str] | None
    schema: Json


def alternatives(schema: Json | bool, components: Json) -> list[Alternative]:
    """Return the alternatives of a schema. Those of the same simple type are one, with the values of all."""
    found: dict[str, Alternative] = {}
    objects = []
    for one in _flat({} if isinstance(schema, bool) else schema, components):
        before = found.get(one.type)
        if one.type in ("object", "array"):
            objects.append(one)
        elif before is None:
            found[one.type] = one
        else:
            values = None if before.values is None or one.values is None else before.values | one.values
            found[one.type] = Alternative(one.type, values, before.schema if values is None else one.schema)
    return [*found.values(), *objects]


def _flat(schema: Json, components: Json) -> Iterator[Alternative]:
    if "$ref" in schema:
        yield from _flat(components[schema["$ref"].rpartition("/")[2]], components)
        return
    if union := schema.get("anyOf") or schema.get("oneOf"):
        for one in union:
            yield from _flat(one, components)
        return
    if len(parts := schema.get("allOf", [])) == 1:
        yield from _flat(parts[0], components)
        return
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    for name in _types(schema, values):
        kept = None if values is None else frozenset(json.dumps(v) for v in values if NAMES.get(type(v)) == name)
        yield Alternative(name, kept, schema)


def _types(schema: Json, values: list[Any] | None) -> list[str]:
    given = schema.get("type")
    if isinstance(given, str):
        return [given]
    if given:
        return list(given)
    if values is not None:
        return sorted({NAMES[type(value)] for value in values})
    return ["object"] if "properties" in schema else [ANY]
