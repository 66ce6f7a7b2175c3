"""Every part of every request body is bounded: a text has a maximum length, a number a range, lists and mappings a
size."""

from collections.abc import Iterator
from re import _parser  # it alone tells how long a match can be
from typing import Any

import pytest

from controller.server.app import create_app
from controller.settings import Settings

Schema = dict[str, Any]

DOCUMENT = create_app(Settings()).openapi()
LONGEST = 1 << 16
FORMATS = {"uuid", "ipv4", "ipv6", "date-time", "date", "time"}
"""Formats of texts that are parsed to a value of fixed size."""


def bodies() -> Iterator[tuple[str, Schema]]:
    """Yield every request body, by its operation."""
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                if kind == "application/yaml":
                    continue  # one text, as long as a body may be
                yield f"{method.upper()} {path} {kind}", content["schema"]


def resolved(schema: Schema) -> Schema:
    """Return the schema, with a reference resolved."""
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def ends(text: Schema) -> bool:
    """Return whether a text has a maximum length."""
    if "maxLength" in text or "const" in text or "enum" in text or text.get("format") in FORMATS:
        return True
    pattern = text.get("pattern", "")
    if not (pattern.startswith("^") and pattern.endswith("$")):
        return False
    return bool(_parser.parse(pattern).getwidth()[1] <= LONGEST)


def endless(schema: Schema, at: str, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield the places at which a body is unbounded."""
    schema = resolved(schema)
    if id(schema) in seen:
        return
    seen |= {id(schema)}
    for several in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(several, ()):
            yield from endless(one, at, seen)
    if "const" in schema or "enum" in schema:
        return
    kind = schema.get("type")
    numbers = kind in ("integer", "number")
    if (kind == "string" and not ends(schema)) or (numbers and not {"maximum", "exclusiveMaximum"} & set(schema)):
        yield at
    elif kind == "array":
        if "maxItems" not in schema:
            yield f"{at}[]"
        for one in [schema.get("items", {}), *schema.get("prefixItems", ())]:
            yield from endless(one, f"{at}[]", seen)
    elif kind == "object":
        for name, one in schema.get("properties", {}).items():
            yield from endless(one, f"{at}.{name}", seen)
        others = schema.get("additionalProperties", not schema.get("properties"))
        if others is not False and "maxProperties" not in schema:
            yield f"{at}{{}}"
        if isinstance(others, dict):
            yield from endless(others, f"{at}{{}}", seen)
            yield from endless({"type": "string"} | schema.get("propertyNames", {}), f"{at}{{key}}", seen)
    elif kind is None and not {"anyOf", "oneOf", "allOf"} & set(schema):
        yield f"{at} of any type"


@pytest.mark.parametrize(("operation", "schema"), [pytest.param(*one, id=one[0]) for one in bodies()])
def test_every_part_of_a_body_ends(operation: str, schema: Schema) -> None:
    assert not sorted(set(endless(schema, "")))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "string", "pattern": "^a+$"},
        {"type": "string", "pattern": "a"},
        {"type": "integer", "minimum": 1},
        {"type": "number"},
        {"type": "array", "items": {"type": "boolean"}},
        {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 3},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}},
        {},
    ],
    ids=str,
)
def test_what_has_no_end_is_found(schema: Schema) -> None:
    assert list(endless(schema, ""))
