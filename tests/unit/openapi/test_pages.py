"""Lists that can grow are given in pages. Those that are not are named here, each with the reason."""

from typing import Any

from controller.server.app import create_app
from controller.settings import Settings

ONE_MOMENT = "it compares everything at one moment; a second page would be of another moment, or compare again"
FEW = "there are few"
OBJECT = "the names that belong to one object, under its one entity tag"

UNPAGED = {
    "GET /api/v1/addresses/{name}": "the highest uses of a few periods",
    "GET /api/v1/cloudlets/{name}": OBJECT,
    "GET /api/v1/doctor": ONE_MOMENT,
    "GET /api/v1/endpoints/{name}": OBJECT,
    "GET /api/v1/events": "`after`, the number of an event, is its cursor, as in the stream of events",
    "GET /api/v1/inventory/drift": ONE_MOMENT,
    "GET /api/v1/moves/prediction": "the reasons of one verdict",
    "GET /api/v1/moves/{name}": "the steps of a move",
    "GET /api/v1/policy/drift": ONE_MOMENT,
    "GET /api/v1/replicas": FEW,
    "GET /api/v1/route-servers": FEW,
    "GET /api/v1/routes/diff": f"{ONE_MOMENT}; route servers bound its lists and count what they leave out",
    "GET /api/v1/routes/explain": f"{ONE_MOMENT}; route servers bound its list, and `nlri` asks for one route",
    "GET /api/v1/routes/lookup": f"{ONE_MOMENT}; the answer to one address, of which route servers bound the lists",
    "GET /api/v1/routes/paths": f"{ONE_MOMENT}; the announcements of one route, of which route servers bound the list",
    "GET /api/v1/settings": FEW,
    "GET /api/v1/summary": f"{ONE_MOMENT}; it has the first of each list, and counts",
    "GET /api/v1/vcps/{name}": OBJECT,
    "GET /api/v1/vms/{name}": OBJECT,
}
"""Operations that look and have a list in their answer, without `limit` and `cursor`."""

DOCUMENT = create_app(Settings()).openapi()


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def grows(schema: dict[str, Any]) -> bool:
    """Whether a schema is that of a list, or of an object with keys that are data and values that are objects."""
    schema = resolved(schema)
    more = schema.get("additionalProperties")
    by_name = isinstance(more, dict) and resolved(more).get("type") in ("array", "object")
    return schema.get("type") == "array" or by_name or any(map(grows, schema.get("anyOf", ())))


def answers() -> dict[str, tuple[dict[str, Any], set[str]]]:
    """Return the schema of the JSON answer of each operation that only looks, and the names in its query. An agent asks
    for itself alone."""
    found = {}
    for path, operations in DOCUMENT["paths"].items():
        if "get" in operations and path.startswith("/api/v1/") and "/agent/" not in path:
            content = operations["get"]["responses"]["200"].get("content", {}).get("application/json", {})
            query = {p["name"] for p in operations["get"].get("parameters", ()) if p["in"] == "query"}
            found[f"GET {path}"] = resolved(content.get("schema", {})), query
    return found


def listed(schema: dict[str, Any]) -> bool:
    return grows(schema) or any(map(grows, schema.get("properties", {}).values()))


def test_lists_are_given_in_pages() -> None:
    lists = {name: (schema, query) for name, (schema, query) in answers().items() if listed(schema)}
    assert len(lists) > 40
    unpaged = {name for name, (_, query) in lists.items() if not {"limit", "cursor"} <= query}
    assert unpaged - UNPAGED.keys() == set(), "a list that can grow takes limit and cursor (controller/api/pages.py)"
    assert UNPAGED.keys() - unpaged == set(), "these are no longer exceptions"
    for name in lists.keys() - unpaged:
        assert "next" in lists[name][0]["properties"], f"{name} does not say where the next page begins"
