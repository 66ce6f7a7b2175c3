"""Routes that a route server holds back from PEs which ended their sessions because of them (Go:
`routeserver/internal/lookingglass/held.go`, docs/network/poison.md). They describe JSON that the controller passes on
(`controller/wire/route_tables.py`)."""

from datetime import datetime

from typing_extensions import TypedDict

from controller.wire.route_tables import HeldBack
from controller.wire.rulesets import Carried


class HeldRoute(HeldBack):
    """A route of the PE `announcer` that is held back from the PE `peer`. `nlri_bytes` is the NLRI as in BGP (hex);
    `times` is how often `peer` has ended its session for it. `verdict`: it did so for this route (`poison`), or may
    have (`suspected`). `why` is how the session ended. `until` is absent while the route waits to be tried."""

    peer: str
    family: Carried
    nlri: str
    nlri_bytes: str
    announcer: str
    endpoint: str
    times: int


class HeldSource(TypedDict):
    """A PE (`announcer`) of which `peer` is sent no route until that time."""

    peer: str
    announcer: str
    until: datetime | None


class ApartFamily(TypedDict):
    """A family of which `peer` is sent one route per message until that time."""

    peer: str
    family: Carried
    until: datetime | None


class HeldRoutes(TypedDict):
    """All that a route server holds back."""

    routes: list[HeldRoute]
    sources: list[HeldSource]
    apart: list[ApartFamily]
