"""Answers to every GET request that the API's description knows, with a given text wherever a text may be."""

import json
from functools import cache
from typing import Any

from tests.house.imports import ROOT

Json = dict[str, Any]


@cache
def description() -> Json:
    """Return the committed description of the API."""
    found: Json = json.loads((ROOT / "docs/reference/openapi.json").read_text())
    return found


def answer(operation: str, text: str, extra: Json) -> Any:
    """Return an answer to GET `operation` (its path in the description). Every text is `text`, and every object also
    has the fields `extra`."""
    content = description()["paths"][operation]["get"]["responses"]["200"]["content"]
    return _filled(content["application/json"]["schema"], text, extra, 0)


def _filled(schema: Json, text: str, extra: Json, depth: int) -> Any:
    if reference := schema.get("$ref"):
        return _filled(description()["components"]["schemas"][reference.rsplit("/", 1)[-1]], text, extra, depth)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            some = [one for one in schema[key] if one.get("type") != "null"]
            return _filled(some[0], text, extra, depth)
    match schema.get("type"):
        case "array":
            return [_filled(schema.get("items", {}), text, extra, depth + 1)] * 2 if depth < 12 else []
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case "object" | None:
            fields = {
                name: _filled(inner, text, extra, depth + 1) for name, inner in schema.get("properties", {}).items()
            }
            if isinstance(inner := schema.get("additionalProperties"), dict):
                fields[text] = _filled(inner, text, extra, depth + 1)
            return fields | extra if fields or schema.get("type") == "object" else text
    return text
