"""The changes of a schema that break clients, in requests and in answers: what breaks on one side is an addition on the
other."""

from typing import Any

import pytest

from tests.openapi.schemas import Schemas, Side

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer"}
ONE: Json = {"enum": ["a"], "type": "string"}
TWO: Json = {"enum": ["a", "b"], "type": "string"}
NULL: Json = {"anyOf": [TEXT, {"type": "null"}]}


def a(required: str = "", *, closed: bool = False, **fields: Json) -> Json:
    """Return an object's schema; `required` are the names of required fields."""
    schema: Json = {"type": "object", "properties": fields, "required": required.split()}
    return schema | ({"additionalProperties": False} if closed else {})


def listed(items: Json) -> Json:
    return {"type": "array", "items": items}


def placed(*items: Json) -> Json:
    return {"type": "array", "prefixItems": list(items)}


def mapped(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


def broken(before: Json, after: Json, side: Side) -> list[str]:
    return [str(one) for one in Schemas({}, {}).broken(before, after, side)]


CASES = [
    # before, after, what breaks requests, what breaks answers
    (a(x=TEXT), a(), ["x: is removed"], ["x: is removed"]),
    (a(), a(x=TEXT), [], []),
    (a(), a("x", x=TEXT), ["x: is required now"], []),
    (a("x", x=TEXT), a(x=TEXT), [], ["x: may be absent now"]),
    (a(x=TEXT), a("x", x=TEXT), ["x: is required now"], []),
    (a("x", x=TEXT), a(), ["x: is removed"], ["x: is removed"]),
    (a(), a(closed=True), ["*: further fields are not accepted any more"], []),
    (TWO, ONE, ['"b" is not accepted any more'], []),
    (ONE, TWO, [], ['may be "b" now']),
    (TEXT, ONE, ['only "a" are accepted now'], []),
    (ONE, TEXT, [], ['may be any value now, not only "a"']),
    ({"const": "a"}, ONE, [], []),
    ({"anyOf": [ONE, {"const": "b", "type": "string"}]}, TWO, [], []),
    (TEXT, NUMBER, ["string is not accepted any more, only integer"], ["may be integer now, not only string"]),
    (NULL, TEXT, ["null is not accepted any more, only string"], []),
    (TEXT, NULL, [], ["may be null now, not only string"]),
    ({"type": ["string", "null"]}, NULL, [], []),
    (NUMBER, {"type": "number"}, [], ["may be number now, not only integer"]),
    ({"type": "number"}, NUMBER, ["number is not accepted any more, only integer"], []),
    (TEXT, {}, [], ["may be any now, not only string"]),
    ({}, TEXT, ["any is not accepted any more, only string"], []),
    (listed(TWO), listed(ONE), ['[]: "b" is not accepted any more'], []),
    (a(x=listed(a(y=TEXT))), a(x=listed(a())), ["x[].y: is removed"], ["x[].y: is removed"]),
    (placed(TEXT, TWO), placed(TEXT, ONE), ['[]: "b" is not accepted any more'], []),
    (mapped(ONE), mapped(TWO), [], ['*: may be "b" now']),
    (TEXT, TEXT | {"format": "date-time"}, ["the format was None, and is date-time"], []),
    (TEXT | {"format": "date-time"}, TEXT, [], ["the format was date-time, and is None"]),
    (TEXT, TEXT | {"pattern": "^a$"}, ["the pattern is ^a$ now"], []),
    (TEXT | {"maxLength": 9}, TEXT | {"maxLength": 5}, ["maxLength is 5 now"], []),
    (TEXT | {"maxLength": 5}, TEXT | {"maxLength": 9}, [], []),
    (NUMBER, NUMBER | {"minimum": 1}, ["minimum is 1 now"], []),
    ({"anyOf": [a(x=TEXT), NUMBER]}, a(x=TEXT), ["integer is not accepted any more, only object"], []),
    (a(x=TEXT), {"anyOf": [a(y=TEXT), a("x", x=TEXT)]}, ["x: is removed"], ["x: is removed"]),
    (a(x=TEXT), {"anyOf": [a(y=TEXT), a(x=TEXT)]}, [], ["x: is removed"]),
]


@pytest.mark.parametrize(("before", "after", "request_", "answer"), CASES)
def test_changes_break_requests_and_answers(before: Json, after: Json, request_: list[str], answer: list[str]) -> None:
    assert broken(before, after, Side.REQUEST) == request_
    assert broken(before, after, Side.ANSWER) == answer


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("schema", [case[0] for case in CASES] + [case[1] for case in CASES])
def test_the_same_breaks_nothing(schema: Json, side: Side) -> None:
    assert broken(schema, schema, side) == []


def test_references_are_followed_also_in_circles() -> None:
    reference = {"$ref": "#/components/schemas/Tree"}
    before, after = a(left=reference, name=TEXT), a(left=reference, name=NUMBER)
    schemas = Schemas({"Tree": before}, {"Tree": after})
    first = ["name: may be integer now, not only string"]
    assert [str(one) for one in schemas.broken(reference, reference, Side.ANSWER)] == first
    again = schemas.broken(listed(reference), listed(reference), Side.ANSWER)
    assert [str(one) for one in again] == ["[].name: may be integer now, not only string"]
