"""Problem details for HTTP APIs (RFC 9457): the one form of this API's error answers."""

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

LONGEST_INSTANCE, MOST_ERRORS, LONGEST_FIELD = 200, 100, 200
"""Limits on the parts of a request that an answer repeats: characters of its path, fields that are wrong, and
characters of a field's name."""

MEDIA_TYPE = "application/problem+json"


class FieldError(BaseModel):
    """One error. `field` is a dotted path into the request. Errors in policies also have the place in the file, and
    `suggestion` if another text was probably meant."""

    field: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    suggestion: str | None = None


class ProblemDetails(BaseModel):
    """An error answer (RFC 9457). `errors` names each error, and `diff` shows what another user has changed meanwhile.
    `type` is a URI reference below this API's own documentation."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/conflict",
                    "title": "Conflict",
                    "status": 409,
                    "detail": "the prefix 10.1.0.0/24 of c1-lan overlaps 10.1.0.0/25 of c9-lan",
                    "instance": "/api/v1/vcps/blue/members",
                    "errors": [{"field": "endpoint", "message": "the prefix 10.1.0.0/24 of c1-lan overlaps …"}],
                }
            ]
        }
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[FieldError] = Field(default_factory=list)
    diff: str | None = None


class Problem(Exception):  # noqa: N818 - the standard's word
    """An error answer. Raised anywhere in the API, written by one handler."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: list[FieldError] | None = None,
        headers: dict[str, str] | None = None,
        slug: str | None = None,
        diff: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = errors or []
        self.headers = headers or {}
        self.diff = diff
        self.slug = slug or HTTPStatus(status).phrase.lower().replace(" ", "-")


def response(problem: Problem, instance: str) -> JSONResponse:
    """Return the problem as an HTTP answer to a request for `instance`."""
    body: dict[str, Any] = ProblemDetails(
        type=f"/problems/{problem.slug}",
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        instance=instance[:LONGEST_INSTANCE],
        errors=problem.errors[:MOST_ERRORS],
        diff=problem.diff,
    ).model_dump(mode="json")
    if problem.diff is None:
        del body["diff"]
    body["errors"] = [{k: v for k, v in error.items() if v is not None} for error in body["errors"]]
    return JSONResponse(body, problem.status, problem.headers, MEDIA_TYPE)
