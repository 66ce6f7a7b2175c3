"""The changes of the API that break its clients, found in two descriptions: removed or renamed operations, parameters,
bodies, answers and events. `schemas.py` compares their values."""

from collections.abc import Iterator
from typing import Any

from tests.openapi.schemas import Schemas, Side

Json = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


def broken(before: Json, after: Json) -> list[str]:
    """Return each change from `before` to `after` that breaks clients, as a sentence with its place."""
    schemas = Schemas(_components(before), _components(after))
    was, now = _operations(before), _operations(after)
    found = []
    for name, operation in was.items():
        if name in now:
            # All errors of an operation are of one kind, and a change of it is named once.
            found += [f"{name}: {text}" for text in dict.fromkeys(_operation(operation, now[name], schemas))]
        else:
            found.append(f"{name}: is removed")
    return found


def _components(document: Json) -> Json:
    return dict(document.get("components", {}).get("schemas", {}))


def _operations(document: Json) -> dict[str, Json]:
    """Return the operations by method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, operations in document.get("paths", {}).items()
        for method, operation in operations.items()
        if method in METHODS
    }


def _operation(before: Json, after: Json, schemas: Schemas) -> Iterator[str]:
    was, now = before.get("operationId"), after.get("operationId")
    if was is not None and was != now:
        yield f"the operation id was {was}, and is {now}"
    yield from _parameters(before, after, schemas)
    yield from _body(before.get("requestBody"), after.get("requestBody"), schemas)
    yield from _answers(before.get("responses", {}), after.get("responses", {}), schemas)


def _parameters(before: Json, after: Json, schemas: Schemas) -> Iterator[str]:
    was, now = ({(p["in"], p["name"]): p for p in side.get("parameters", ())} for side in (before, after))
    for key, parameter in was.items():
        where = " ".join(key)
        if key in now:
            found = schemas.broken(parameter.get("schema", {}), now[key].get("schema", {}), Side.REQUEST)
            yield from (f"{where}: {one}" for one in found)
        else:
            yield f"{where}: is removed"
    for key, parameter in now.items():
        if parameter.get("required") and not was.get(key, {}).get("required"):
            yield f"{' '.join(key)}: is required now"


def _body(before: Json | None, after: Json | None, schemas: Schemas) -> Iterator[str]:
    if before is not None and after is None:
        yield "body: is removed"
        return
    if after is not None and after.get("required") and not (before or {}).get("required"):
        yield "body: is required now"
    if before is not None and after is not None:
        yield from _contents("body", before, after, schemas, Side.REQUEST)


def _answers(before: Json, after: Json, schemas: Schemas) -> Iterator[str]:
    for status, answer in before.items():
        where = f"answer {status}" if status < "400" else "error"
        if status in after:
            headers = after[status].get("headers", {})
            yield from (f"{where}: header {n} is removed" for n in answer.get("headers", {}) if n not in headers)
            yield from _contents(where, answer, after[status], schemas, Side.ANSWER)
        elif status < "400":
            yield f"{where}: is removed"


def _contents(where: str, before: Json, after: Json, schemas: Schemas, side: Side) -> Iterator[str]:
    """Compare a body or an answer by its media types."""
    was, now = before.get("content", {}), after.get("content", {})
    for kind, content in was.items():
        if kind not in now:
            yield f"{where}: {kind} is removed"
            continue
        found = schemas.broken(content.get("schema", {}), now[kind].get("schema", {}), side)
        yield from (f"{where}: {one}" for one in found)
        yield from _events(where, content.get("x-events", {}), now[kind].get("x-events", {}), schemas)


def _events(where: str, before: Json, after: Json, schemas: Schemas) -> Iterator[str]:
    for name, schema in before.items():
        if name in after:
            found = schemas.broken(schema, after[name], Side.ANSWER)
            yield from (f"{where}: event {name}: {one}" for one in found)
        else:
            yield f"{where}: event {name} is removed"
