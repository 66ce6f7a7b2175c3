"""The tables of docs/reference/policy-language.md, made from policies/schema.json:
`python -m tests.unit.policy.reference` writes them again."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "policy-language.md"
SCHEMA = json.loads((ROOT / "policies" / "schema.json").read_text())
MARKED = re.compile(r"<!-- table: (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def written(page: str) -> str:
    """Return the page with its tables made from the schema."""
    return MARKED.sub(lambda found: f"<!-- table: {found[1]} -->\n{table(found[1])}<!-- end -->", page)


def table(name: str) -> str:
    """Return one table: a section (`neighbours`) or a definition (`$lan`)."""
    part = SCHEMA["$defs"][name[1:]] if name.startswith("$") else SCHEMA["properties"][name]
    rows = "".join(f"| `{key}` | {kind} | {text} |\n" for key, kind, text in _rows(part))
    return f"| key | value | meaning |\n| --- | --- | --- |\n{rows}"


def _rows(part: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    required = part.get("required", ())
    for key, inner in part["properties"].items():
        default = f", {json.dumps(inner['default']).strip(chr(34))} if left out" if "default" in inner else ""
        must = ", required" if key in required else ""
        yield key, f"{_kind(inner)}{must}{default}", _described(inner).replace("|", "\\|")


def _described(part: dict[str, Any]) -> str:
    if "description" in part or "$ref" not in part:
        return str(part.get("description", ""))
    return _described(_referred(part))


def _referred(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    return found


def _kind(part: dict[str, Any]) -> str:
    if "$ref" in part:
        return NAMED.get(part["$ref"].rsplit("/", 1)[-1]) or _kind(_referred(part))
    if "enum" in part:
        return " or ".join(f"`{value}`" for value in part["enum"])
    match part.get("type"):
        case "number" | "integer" as kind:
            least, above, most = (part.get(bound) for bound in ("minimum", "exclusiveMinimum", "maximum"))
            low = f"{least} to " if least is not None else f"above {above}, up to "
            return f"{'a whole number' if kind == 'integer' else 'a number'}, {low}{most}"
        case "boolean":
            return "true or false"
        case "string":
            return "text"
        case "array":
            return f"a list of {PLURAL[part['items']['$ref'].rsplit('/', 1)[-1]]}"
        case "object" if part.get("additionalProperties"):
            return "a mapping"
    return str(part.get("const", "a mapping"))


NAMED = {
    "name": "a name", "names": "a list of names", "address": "an address", "prefix": "a prefix",
    "address6": "an IPv6 address", "prefix6": "an IPv6 prefix",
    "selector": "a selector", "ends": "a name, or a list", "coordinates": "[latitude, longitude]",
    "protocol": "a protocol", "port": "a port", "text": "text", "hosts": "a mapping, below",
    "domain": "a domain name", "anyPrefix": "a prefix of either family",
}  # fmt: skip
PLURAL = {"name": "names", "addressRange": "ranges", "protocol": "protocols", "portRange": "ports and ranges"}
PLURAL |= {"server": "IP addresses", "domain": "domain names", "route": "routes", "bandwidth": "limits, below"}
PLURAL |= {"schedule": "moves, below"}


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
