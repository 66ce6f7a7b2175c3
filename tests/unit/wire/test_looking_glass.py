"""The types of a route server's answers name exactly the fields of its Go types, and those as optional that Go leaves
out."""

import re
from typing import Any

import pytest
from typing_extensions import get_type_hints

from controller.wire.held_routes import ApartFamily, HeldRoute, HeldSource
from controller.wire.route_comparisons import (
    GenerationComparison,
    MemberEntry,
    PeerComparison,
    PoolEntry,
    RouteDifference,
    RouteEntry,
    WithheldRoute,
)
from controller.wire.route_counts import PeerRouteCounts, TotalCounts
from controller.wire.route_explanations import ExplanationStep, PathExplanation, RouteExplanation
from controller.wire.route_lookups import RouteMatch
from controller.wire.route_paths import RoutePath, RouteRecipient, SentForm, WithdrawnPath
from controller.wire.route_server_status import SessionStatus, StationStatus
from controller.wire.route_tables import HeldBack, Route, RouteChange
from tests.house.imports import ROOT

INTERNAL = ROOT / "routeserver/internal"
SOURCES = [
    path
    for folder in ("lookingglass", "control", "bmp")
    for path in sorted((INTERNAL / folder).glob("*.go"))
    if not path.name.endswith("_test.go")
]
STRUCT = re.compile(r"^type (\w+)(?:\[.*?\])? struct \{\n(.*?)^\}", re.M | re.S)
TAG = re.compile(r'`json:"(\w+)(,omitempty)?"`')
EMBEDDED = re.compile(r"^\t(?:\w+\.)?(\w+)$", re.M)

STRUCTS = {name: body for path in SOURCES for name, body in STRUCT.findall(path.read_text())}

PAIRS: list[tuple[Any, str]] = [
    (Route, "Route"),
    (HeldBack, "HeldBack"),
    (RouteChange, "watchChange"),
    (ExplanationStep, "Step"),
    (RouteExplanation, "RouteExplanation"),
    (RouteDifference, "Difference"),
    (WithheldRoute, "Withheld"),
    (PeerComparison, "peerPage"),
    (PoolEntry, "PoolEntry"),
    (MemberEntry, "Membership"),
    (RouteEntry, "RouteEntry"),
    (GenerationComparison, "GenerationDiff"),
    (HeldRoute, "HeldRoute"),
    (HeldSource, "HeldSource"),
    (ApartFamily, "Apart"),
    (PeerRouteCounts, "peerCounts"),
    (TotalCounts, "totalCounts"),
    (RouteMatch, "Match"),
    (RoutePath, "Path"),
    (SentForm, "Form"),
    (RouteRecipient, "Recipient"),
    (WithdrawnPath, "GonePath"),
    (SessionStatus, "sessionStatus"),
    (StationStatus, "Status"),
]


def in_go(struct: str) -> dict[str, bool]:
    """Return the fields of a Go type, with those of its embedded types, and whether each is always there."""
    body = re.sub(r"\s*//.*$", "", STRUCTS[struct], flags=re.M)
    fields: dict[str, bool] = {}
    for embedded in EMBEDDED.findall(body):
        fields |= in_go(embedded)
    return fields | {name: not optional for name, optional in TAG.findall(body)}


def here(model: Any) -> dict[str, bool]:
    """Return the fields of a type by their names in JSON, and whether each is required."""
    found = {}
    for name, hint in get_type_hints(model, include_extras=True).items():
        aliases = (getattr(extra, "alias", None) for extra in getattr(hint, "__metadata__", ()))
        found[next((alias for alias in aliases if alias), name)] = name in model.__required_keys__
    return found


@pytest.mark.parametrize(("model", "struct"), PAIRS, ids=[struct for _, struct in PAIRS])
def test_the_types_are_those_of_the_route_server(model: Any, struct: str) -> None:
    if model is SessionStatus:  # an earlier release has fewer fields
        assert here(model).keys() == in_go(struct).keys()
    else:
        assert here(model) == in_go(struct)


def test_an_explanation_has_a_page_of_routes() -> None:
    assert here(PathExplanation) == in_go("Explanation") | {"truncated": True}
