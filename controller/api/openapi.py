"""The API's description (OpenAPI 3.1): FastAPI's, with every error described as a problem."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from controller.runtime.problems import MEDIA_TYPE, ProblemDetails

DESCRIPTION = """Weft's controller: cloudlets, endpoints, Virtual Cloud Pools and their members, devices and leases,
policy, routes, events. Every error is a problem (RFC 9457). A POST with an `Idempotency-Key` is done once however often
it is sent. `ETag` and `If-Match` guard changes."""

_DETAILS = {
    "400": "The body cannot be read.",
    "401": "The bearer token is missing or wrong.",
    "403": "Not allowed for this caller.",
    "404": "There is no such thing.",
    "409": "At odds with what is there.",
    "412": "It was changed meanwhile (`If-Match`).",
    "413": "The body is too large.",
    "414": "Path and query are too long.",
    "415": "The body's media type is not one of those accepted.",
    "422": "A value is wrong; `errors` says which and why.",
    "429": "Too many requests; `Retry-After` says when there may be more.",
    "500": "A defect in the controller.",
    "502": "No route server could be asked.",
    "503": "Not now; `Retry-After` says when to try again.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an operation, in addition to those that all operations have."""
    return {
        status: {"description": _DETAILS[str(status)]}
        for status in (400, 401, 403, 413, 414, 422, 429, 500, 503, *statuses)
    }


UNREPEATED = "/api/v1/enrolments"
"""The path whose answers are not stored, because only the token in the body identifies its caller."""

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Repeating the request with the same key repeats the answer, for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "example": "0b6f6a1e-8f5e-4d0c-9a51-2f0c52b1f0a1",
}


def install(app: FastAPI) -> None:
    """Replace FastAPI's description by this one, made once."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _describe(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(
        title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, openapi_version="3.1.0"
    )
    schemas = schema["components"]["schemas"]
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["ProblemDetails"] = problem
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if status >= "400":
                    answer["description"] = _DETAILS.get(status, answer["description"])
                    answer["content"] = content
            if method == "post" and path.startswith("/api/v1/") and path != UNREPEATED and "/agent/" not in path:
                operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
    return schema
