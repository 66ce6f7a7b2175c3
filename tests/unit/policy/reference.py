"""The tables of keys in the manuals, made from the schemas in `policies`: `python -m tests.unit.policy.reference` makes
them anew."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
POLICY, INVENTORY, NETBOX = (
    ROOT / "docs" / "reference" / f"{name}.md" for name in ("policy-language", "inventory", "netbox")
)
FILES = {POLICY: "schema.json", INVENTORY: "inventory.schema.json", NETBOX: "netbox.schema.json"}
SCHEMAS: dict[Path, dict[str, Any]] = {
    page: json.loads((ROOT / "policies" / name).read_text()) for page, name in FILES.items()
}
MARKED = re.compile(r"<!-- table: (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def written(page: Path) -> str:
    """Return the text of a page with its tables made from the schema."""
    tables = Tables(SCHEMAS[page])
    text = page.read_text()
    return MARKED.sub(lambda found: f"<!-- table: {found[1]} -->\n{tables.table(found[1])}<!-- end -->", text)


class Tables:
    """The tables of one schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def table(self, name: str) -> str:
        """Return one table: a section (`neighbours`) or a definition (`$lan`)."""
        part = self.schema["$defs"][name[1:]] if name.startswith("$") else self.schema["properties"][name]
        rows = "".join(f"| `{key}` | {kind} | {text} |\n" for key, kind, text in self._rows(part))
        return f"| key | value | meaning |\n| --- | --- | --- |\n{rows}"

    def _rows(self, part: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
        required = part.get("required", ())
        for key, inner in part["properties"].items():
            default = f", {_said(inner['default'])} if left out" if "default" in inner else ""
            must = ", required" if key in required else ""
            yield key, f"{self._kind(inner)}{must}{default}", self._described(inner).replace("|", "\\|")

    def _described(self, part: dict[str, Any]) -> str:
        if "description" in part or "$ref" not in part:
            return str(part.get("description", ""))
        return self._described(self._referred(part))

    def _referred(self, part: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.schema["$defs"][part["$ref"].rsplit("/", 1)[-1]]
        return found

    def _kind(self, part: dict[str, Any]) -> str:
        if "$ref" in part:
            return NAMED.get(part["$ref"].rsplit("/", 1)[-1]) or self._kind(self._referred(part))
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
    "domain": "a domain name", "anyPrefix": "a prefix of either family", "mac": "a MAC", "size": "bytes, or a size",
    "client": "a mapping, below", "disk": "a mapping, below",
}  # fmt: skip
PLURAL = {"name": "names", "addressRange": "ranges", "protocol": "protocols", "portRange": "ports and ranges"}
PLURAL |= {"server": "IP addresses", "domain": "domain names", "route": "routes", "bandwidth": "limits, below"}
PLURAL |= {"schedule": "moves, below", "port": "interfaces", "mac": "two MACs", "slug": "slugs", "title": "names"}


def _said(default: Any) -> str:
    """Return a default as a reader would write it."""
    match default:
        case [] | {}:
            return "empty"
        case list():
            return ", ".join(f"`{one}`" for one in default)
        case dict():
            return ", ".join(f"`{key}: {one}`" for key, one in default.items())
    return json.dumps(default).strip('"')


if __name__ == "__main__":
    for each in SCHEMAS:
        each.write_text(written(each))
