"""Explanations of a route server (Go: `routeserver/internal/lookingglass/explain.go`): each step of a route's way, and
where it ended. They describe JSON that the controller passes on (`controller/wire/route_tables.py`)."""

from datetime import datetime
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from controller.wire.rulesets import Carried


class ExplanationStep(TypedDict):
    """A step of a route from announcement to delivery, at the time `at` if that is known. The first step that is not
    `ok` is where the route's way ends, and `text` says why."""

    step: Literal[
        "announced",
        "withdrawn",
        "accepted",
        "pools",
        "session",
        "scope",
        "long-lived",
        "asked",
        "rewritten",
        "held",
        "fits",
        "sent",
    ]
    ok: bool
    text: str
    at: NotRequired[datetime]


class RouteExplanation(TypedDict):
    """The verdict on one route, and its steps in their order. `text` is the verdict as a sentence."""

    nlri: str
    family: Carried
    verdict: Literal["sent", "not-sent", "held-back", "quarantined"]
    text: str
    steps: list[ExplanationStep]


class PathExplanation(TypedDict):
    """The verdict on all routes of the endpoint `from` on their way to the endpoint `to`; `partly`: some are sent and
    others are not. `routes` has up to 1,000 of them, and `truncated` means that there are more."""

    from_: Annotated[str, Field(alias="from")]
    to: str
    verdict: Literal["sent", "not-sent", "held-back", "quarantined", "partly"]
    text: str
    routes: list[RouteExplanation]
    truncated: bool
