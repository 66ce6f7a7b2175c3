"""Conversion of every error to a problem."""

import logging
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException

from controller.api.forms import in_words
from controller.core.json_limits import MAX_DEPTH
from controller.core.refusals import Refused
from controller.core.unavailable import Unavailable
from controller.core.yaml_document.errors import DocumentError, DocumentInvalid
from controller.runtime.problems import LONGEST_FIELD, MOST_ERRORS, FieldError, Problem, response
from controller.trust.authority import AuthorityAway

log = logging.getLogger(__name__)

_STATUS = {"invalid": 422, "conflict": 409, "missing": 404}


def of_refusal(refused: Refused) -> Problem:
    """Return the problem of a refused request."""
    errors = []
    if refused.field:
        errors = [FieldError(field=refused.field, message=refused.message, suggestion=refused.suggestion or None)]
    return Problem(_STATUS[refused.kind], refused.message, errors)


def of_place(error: DocumentError) -> FieldError:
    """Return an error or warning of a document with its place in the file."""
    return FieldError(**asdict(error) | {"suggestion": error.suggestion or None})


def of_document(invalid: DocumentInvalid) -> Problem:
    """Return the problem of an invalid policy or inventory, with each error's place in the file."""
    errors = [of_place(error) for error in invalid.errors]
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return Problem(422, f"The {invalid.noun} has {count}: {invalid.errors[0]}", errors, slug=f"{invalid.noun}-invalid")


def of_trouble(away: Unavailable) -> Problem:
    """Return the problem of a database that is unreachable, or cannot serve the request now."""
    log.error("database: %s", away)
    return Problem(503, f"The database cannot do this now: {away}.", headers={"Retry-After": "1"})


def of_constraint(error: IntegrityError) -> Problem:
    """Return the problem of a violated constraint: the database decides which of two concurrent requests came first."""
    log.warning("refused by a constraint: %s", error.orig)
    return Problem(409, "Somebody else has just made, taken or removed something that this request is about.")


def of_validation(error: RequestValidationError) -> Problem:
    """Return the problem of a request that does not fit its schema. It does not repeat the values, which may be
    secrets."""
    found = error.errors()
    if any(e["type"] == "json_invalid" for e in found):
        reason = str(found[0].get("ctx", {}).get("error", "not JSON"))
        position = found[0]["loc"][-1]
        return Problem(400, f"The body is not JSON: {reason} at character {position}.")
    errors = [FieldError(field=_field(e["loc"]), message=in_words(e)) for e in found[:MOST_ERRORS]]
    return Problem(422, "; ".join(f"{e.field}: {e.message}" for e in errors)[:1000], errors)


def _field(location: tuple[Any, ...]) -> str:
    parts = location[1:] if location[0] in ("body", "query", "path", "header") and len(location) > 1 else location
    return ".".join(str(part)[:LONGEST_FIELD] for part in parts[:MAX_DEPTH])[:LONGEST_FIELD]


def _of_http(error: HTTPException) -> Problem:
    detail = {404: "There is nothing here.", 405: "This method is not allowed here."}.get(error.status_code)
    return Problem(error.status_code, detail or str(error.detail), headers=dict(error.headers or {}))


def install(app: FastAPI) -> None:
    """Install a handler for each error. An unexpected one is logged, and the caller is told only that it happened."""

    def handle(kind: type[Exception], problem: Any) -> None:
        async def handler(request: Request, error: Exception) -> Response:
            return response(problem(error), request.url.path)

        app.add_exception_handler(kind, handler)

    handle(Problem, lambda problem: problem)
    handle(Refused, of_refusal)
    handle(Unavailable, of_trouble)
    handle(AuthorityAway, lambda away: Problem(503, str(away), headers={"Retry-After": "60"}))
    handle(IntegrityError, of_constraint)
    handle(DocumentInvalid, of_document)
    handle(RequestValidationError, of_validation)
    handle(HTTPException, _of_http)
    handle(Exception, lambda _: Problem(500, "Something went wrong in the controller; its log says what."))
