"""The changes of the API's description that break clients: operations, parameters, bodies, answers and events."""

from copy import deepcopy
from typing import Any

from tests.openapi.operations import broken

Json = dict[str, Any]

THING = {"$ref": "#/components/schemas/Thing"}
PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def document() -> Json:
    """Return a description with one operation of each kind."""
    stream = {"schema": {"type": "string"}, "x-events": {"thing": THING}}
    limit = {"in": "query", "name": "limit", "required": False, "schema": {"type": "integer", "maximum": 10}}
    answer = {"headers": {"ETag": {}}, "content": {"application/json": {"schema": THING}, "text/event-stream": stream}}
    body = {"required": False, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewThing"}}}}
    return {
        "paths": {
            "/things": {
                "get": {
                    "operationId": "listThings",
                    "parameters": [limit],
                    "responses": {"200": answer, "404": PROBLEM, "409": PROBLEM},
                },
                "post": {"operationId": "createThing", "requestBody": body, "responses": {"204": {}}},
            }
        },
        "components": {
            "schemas": {
                "Thing": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                "NewThing": {"type": "object", "properties": {"name": {"type": "string"}}},
                "Problem": {"type": "object", "properties": {"detail": {"type": "string"}}},
            }
        },
    }


def change(*path: str | int, to: Any = None) -> list[str]:
    """Return the changes that break clients if this part of the description is another, or is removed (None); and check
    that undoing the change names something else."""
    before, after = document(), document()
    parent: Any = after
    for key in path[:-1]:
        parent = parent[key]
    if to is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = deepcopy(to)
    found = broken(before, after)
    assert not found or broken(after, before) != found
    assert broken(before, before) == broken(after, after) == []
    return found


GET = ("paths", "/things", "get")
POST = ("paths", "/things", "post")
SCHEMAS = ("components", "schemas")


def test_operations_are_removed_or_renamed() -> None:
    assert change("paths", "/things") == ["GET /things: is removed", "POST /things: is removed"]
    assert change(*POST) == ["POST /things: is removed"]
    renamed = ["GET /things: the operation id was listThings, and is allThings"]
    assert change(*GET, "operationId", to="allThings") == renamed
    added = document()
    added["paths"]["/more"] = added["paths"]["/things"]
    assert broken(document(), added) == []


def test_parameters() -> None:
    assert change(*GET, "parameters", 0) == ["GET /things: query limit: is removed"]
    assert change(*GET, "parameters", 0, "required", to=True) == ["GET /things: query limit: is required now"]
    assert change(*GET, "parameters", 0, "schema", "maximum", to=5) == ["GET /things: query limit: maximum is 5 now"]
    assert change(*GET, "parameters", 0, "schema", "maximum", to=50) == []
    given = document()["paths"]["/things"]["get"]["parameters"]
    new = {"in": "header", "name": "Key", "schema": {"type": "string"}}
    assert change(*GET, "parameters", to=[*given, new]) == []
    assert change(*GET, "parameters", to=[*given, new | {"required": True}]) == [
        "GET /things: header Key: is required now"
    ]


def test_bodies() -> None:
    assert change(*POST, "requestBody") == ["POST /things: body: is removed"]
    assert change(*POST, "requestBody", "required", to=True) == ["POST /things: body: is required now"]
    assert change(*POST, "requestBody", "content", to={"text/plain": {}}) == [
        "POST /things: body: application/json is removed"
    ]
    assert change(*SCHEMAS, "NewThing", "required", to=["name"]) == ["POST /things: body: name: is required now"]
    assert change(*SCHEMAS, "NewThing", "properties", "name") == ["POST /things: body: name: is removed"]
    assert change(*GET, "requestBody", to={"required": False, "content": {}}) == []
    assert change(*GET, "requestBody", to={"required": True, "content": {}}) == ["GET /things: body: is required now"]


def test_answers_and_events() -> None:
    content = (*GET, "responses", "200", "content")
    assert change(*GET, "responses", "200", "headers", "ETag") == ["GET /things: answer 200: header ETag is removed"]
    assert change(*content, "application/json") == ["GET /things: answer 200: application/json is removed"]
    assert change(*content, "text/event-stream", "x-events", "thing") == [
        "GET /things: answer 200: event thing is removed"
    ]
    assert change(*POST, "responses", to={"201": {}}) == ["POST /things: answer 204: is removed"]
    assert change(*SCHEMAS, "Thing", "properties", "name") == [
        "GET /things: answer 200: name: is removed",
        "GET /things: answer 200: event thing: name: is removed",
    ]
    assert change(*SCHEMAS, "Thing", "properties", "size", to={"type": "integer"}) == []


def test_errors_may_go_and_their_form_is_named_once() -> None:
    assert change(*GET, "responses", "404") == []
    assert change(*SCHEMAS, "Problem", "properties", "detail") == ["GET /things: error: detail: is removed"]
