"""The API's description (OpenAPI 3.1): FastAPI's, with names of operations and components that stay, the events of
streams, and every error described as a problem."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from controller.api.components import with_names
from controller.api.event_models import EVENT_MODELS
from controller.api.openapi import DETAILS, IDEMPOTENCY_KEY, UNREPEATED
from controller.api.operation_ids import OPERATION_IDS
from controller.api.streams import EVENT_STREAM
from controller.api.tags import TAGS
from controller.runtime.problems import MEDIA_TYPE, ProblemDetails

DESCRIPTION = """Weft's controller: cloudlets, endpoints, Virtual Cloud Pools and their members, devices and leases,
policy, routes, events. Every error is a problem (RFC 9457). A change with an `Idempotency-Key` is made once however
often it is sent. `ETag` and `If-Match` guard changes."""

CHANGES = ("delete", "patch", "post", "put")

CARRIER = "/carrier"
"""The path of the route that carries models into the description."""

Schema = dict[str, Any]

UNPROCESSABLE = {"application/json": {"schema": {"$ref": "#/components/schemas/HTTPValidationError"}}}
"""FastAPI's own content for the status 422, which this API does not send."""


def install(app: FastAPI) -> None:
    """Replace FastAPI's description by this one, made once."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _describe(app: FastAPI) -> dict[str, Any]:
    models = [ProblemDetails, *{id(m): m for events in EVENT_MODELS.values() for m in events.values()}.values()]
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=DESCRIPTION,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        routes=[*app.routes, _carrier(models)],
        openapi_version="3.1.0",
    )
    references = _carried(document, models)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            operation["operationId"] = OPERATION_IDS[name]
            _refuse(operation, references[id(ProblemDetails)])
            if name in EVENT_MODELS:
                stream = operation["responses"]["200"]["content"][EVENT_STREAM]
                stream["x-events"] = {event: references[id(model)] for event, model in EVENT_MODELS[name].items()}
            if method in CHANGES and path.startswith("/api/v1/") and path != UNREPEATED and "/agent/" not in path:
                operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
    for unused in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(unused, None)
    return with_names(document)


def _carrier(models: list[Any]) -> APIRoute:
    """Return a route that is described and never served. Its answers have the models that no route returns, so that
    FastAPI collects them in one pass with all others."""

    async def nothing() -> None: ...

    return APIRoute(CARRIER, nothing, responses={400 + number: {"model": model} for number, model in enumerate(models)})


def _carried(document: dict[str, Any], models: list[Any]) -> dict[int, Schema]:
    """Remove the carrier from the description, and return the references to its models."""
    answers = document["paths"].pop(CARRIER)["get"]["responses"]
    kept = (answers[str(400 + number)]["content"]["application/json"]["schema"] for number in range(len(models)))
    return {id(model): {"$ref": schema["$ref"]} for model, schema in zip(models, kept, strict=True)}


def _refuse(operation: dict[str, Any], problem: Schema) -> None:
    """Describe each error of an operation as a problem, unless its route has a model for that status."""
    for status, answer in operation["responses"].items():
        own = answer.get("content", UNPROCESSABLE) != UNPROCESSABLE
        if status >= "400" and not own:
            answer["description"] = DETAILS.get(status, answer["description"])
            answer["content"] = {MEDIA_TYPE: {"schema": problem}}
