"""The names of the description's components. A component has the title of its schema as its name: the class name of a
model, or the `title` of its configuration. So a model keeps its name when its class moves to another module."""

from collections import Counter
from typing import Any

PREFIX = "#/components/schemas/"

INPUT = "-Input"
"""The end of FastAPI's name of a model's schema in requests, if answers have another one."""

ENUMERATIONS = {
    "Course": "MoveCourse",
    "Dialect": "PeDialect",
    "Form": "DnsForm",
    "Outcome": "TestOutcome",
    "Phase": "MovePhase",
    "Reason": "RevocationReason",
    "Relation": "CloudletRelation",
    "Standing": "CertificateStanding",
    "Step": "MoveStepName",
}
"""Names of enumerations that differ from their class's: an enumeration has no configuration, and so no other title."""


def with_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return a description whose components have their names. Raises ValueError if two would have the same name."""
    schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
    titles = {key: _title(key, schema) for key, schema in schemas.items()}
    counts = Counter(titles.values())
    names = {key: _name(key, title, counts[title]) for key, title in titles.items()}
    by_name: dict[str, str] = {}
    for key, name in names.items():
        if name in by_name:
            raise ValueError(f"two models are called {name}, {by_name[name]} and {key}: give one of them another title")
        by_name[name] = key
    named = {name: schemas[by_name[name]] | {"title": name} for name in sorted(by_name)}
    components = document["components"] | {"schemas": named}
    renamed: dict[str, Any] = _renamed(
        document | {"components": components}, {PREFIX + key: PREFIX + name for key, name in names.items()}
    )
    return renamed


def _title(key: str, schema: dict[str, Any]) -> str:
    title = str(schema.get("title", key))
    return ENUMERATIONS.get(title, title) if "enum" in schema else title


def _name(key: str, title: str, count: int) -> str:
    """Return the name of a component. A model with two schemas has its plain name in answers."""
    return f"{title}Input" if count > 1 and key.endswith(INPUT) else title


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """Return a copy of a node in which all references have the new names."""
    if isinstance(node, dict):
        return {key: _renamed(value, names) for key, value in node.items()}
    if isinstance(node, list):
        return [_renamed(value, names) for value in node]
    return names.get(node, node) if isinstance(node, str) else node
