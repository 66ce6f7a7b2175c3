"""The API's description, as generators of clients need it: names that stay, types of all answers and events, and the
committed document."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from controller.api.components import ENUMERATIONS, with_names
from controller.api.event_models import EVENT_MODELS
from controller.api.operation_ids import OPERATION_IDS
from controller.api.tags import TAGS
from controller.core.roles import TABLE
from tests.openapi import document

Json = dict[str, Any]

PRESENT = document.present()
COMPONENTS: dict[str, Json] = PRESENT["components"]["schemas"]
OPERATIONS: dict[str, Json] = {
    f"{method.upper()} {path}": operation
    for path, operations in PRESENT["paths"].items()
    for method, operation in operations.items()
}

VERBS = {
    "GET": {"list", "get", "check", "export", "follow", "verify", "diagnose", "predict", "compare", "explain", "watch"},
    "DELETE": {"delete", "cancel", "give", "leave", "release", "revoke", "withdraw"},
    "PATCH": {"update"},
}
"""First words of the ids, by method; those of POST have many verbs, and none of these."""

FREE = {
    "AuditEntry.asked": "the body of any request",
    "AuditEntry.before.*": "the values of any object",
    "AuditEntry.after.*": "the values of any object",
    "ChangedField.before": "the value of any field",
    "ChangedField.after": "the value of any field",
    "Event.data.*": "what there is to say of any event",
    "RouteAttributes.*": "GoBGP's form of any path attribute",
}
"""Parts of answers that have any form, and why."""


def test_the_committed_document_is_the_present_one() -> None:
    assert document.COMMITTED.read_text() == document.text(PRESENT), "make openapi"


def test_every_operation_has_an_id_of_its_own() -> None:
    assert OPERATION_IDS.keys() == OPERATIONS.keys()
    assert {name: operation["operationId"] for name, operation in OPERATIONS.items()} == OPERATION_IDS
    ids = sorted(OPERATION_IDS.values(), key=str.lower)
    assert len({one.lower() for one in ids}) == len(ids), ids


@pytest.mark.parametrize(("operation", "name"), OPERATION_IDS.items())
def test_an_id_is_a_verb_and_its_object(operation: str, name: str) -> None:
    assert re.fullmatch(r"[a-z]+([A-Z][a-z]*)+", name)
    method, verb = operation.split()[0], re.split("[A-Z]", name)[0]
    others = {word for known, words in VERBS.items() if known != method for word in words}
    assert verb in VERBS[method] if method in VERBS else verb not in others - {"check", "give", "release", "revoke"}
    content = OPERATIONS[operation]["responses"].get("200", {}).get("content", {}).get("application/json", {})
    if content.get("schema", {}).get("$ref", "").endswith("Page"):
        assert verb == "list"


def test_every_tag_is_described_and_has_a_role() -> None:
    assert {tag["name"]: tag["description"] for tag in PRESENT["tags"]} == TAGS
    assert {tag for operation in OPERATIONS.values() for tag in operation["tags"]} == TAGS.keys()
    assert TABLE.keys() == TAGS.keys() - {"agents"}
    assert all(re.fullmatch(r"[A-Z].*\.", text) for text in TAGS.values())


def free(where: str, schema: Json, seen: set[str]) -> Iterator[str]:
    """Yield the places below a schema whose form is not described."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield from free(name, COMPONENTS[name], seen)
        return
    for one in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
        yield from free(where, one, seen)
    if not schema.keys() & {"type", "anyOf", "oneOf", "const", "enum"}:
        yield where
    if schema.get("type") == "array":
        for item in schema.get("prefixItems") or [schema.get("items", {})]:
            yield from free(f"{where}[]", item, seen)
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        for name, inner in fields.items():
            yield from free(f"{where}.{name}", inner, seen)
        further = schema.get("additionalProperties", not fields)
        if further is not False:
            yield from free(f"{where}.*", {} if further is True else further, seen)


def test_every_answer_and_event_is_typed() -> None:
    found: set[str] = set()
    seen: set[str] = set()
    for name, operation in OPERATIONS.items():
        for status, answer in operation["responses"].items():
            assert ("content" in answer) == (status != "204"), f"{name} {status}"
            for kind, content in answer.get("content", {}).items():
                found |= set(free(f"{name} {status} {kind}", content["schema"], seen))
                for event, schema in content.get("x-events", {}).items():
                    found |= set(free(f"{name} {event}", schema, seen))
    assert found == FREE.keys()


def test_every_stream_has_its_events() -> None:
    streams = {
        name: operation["responses"]["200"]["content"]["text/event-stream"]["x-events"]
        for name, operation in OPERATIONS.items()
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    }
    assert {name: events.keys() for name, events in streams.items()} == {
        name: events.keys() for name, events in EVENT_MODELS.items()
    }


def test_every_error_is_a_problem() -> None:
    own = set()
    for name, operation in OPERATIONS.items():
        for status, answer in operation["responses"].items():
            if status >= "400" and answer["content"] != {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
            }:
                own.add(f"{name} {status}")
    assert own == {"GET /readyz 503"}


def test_components_have_plain_names() -> None:
    for name, schema in COMPONENTS.items():
        assert re.fullmatch(r"([A-Z][a-z0-9]*)+", name) and schema["title"] == name
    assert COMPONENTS.keys() >= set(ENUMERATIONS.values())


def test_two_models_of_one_name_are_refused() -> None:
    schemas: Json = {"one__Thing": {"title": "Thing"}, "two__Thing": {"title": "Thing"}}
    with pytest.raises(ValueError, match="two models are called Thing"):
        with_names({"components": {"schemas": schemas}})


def test_references_follow_a_name() -> None:
    """A component may get the name that another one had."""
    once: Json = {"$ref": "#/components/schemas/a__Thing"}
    schemas: Json = {"a__Thing": {"title": "Other"}, "Other": {"title": "Last"}}
    named = with_names({"paths": {"/one": once, "/two": once}, "components": {"schemas": schemas}})
    assert named["paths"] == {path: {"$ref": "#/components/schemas/Other"} for path in ("/one", "/two")}
    assert named["components"]["schemas"] == {"Other": {"title": "Other"}, "Last": {"title": "Last"}}
