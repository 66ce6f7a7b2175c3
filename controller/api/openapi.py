"""The parts of the description that operations share: their errors, and the header `Idempotency-Key`."""

from typing import Any

DETAILS = {
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
"""The meaning of each error, by its status."""


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an operation, in addition to those that all operations have."""
    return {
        status: {"description": DETAILS[str(status)]}
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
