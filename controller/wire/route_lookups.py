"""Routes that lead to an address, as a route server finds them (Go: `routeserver/internal/lookingglass/lookup.go`).
They describe JSON that the controller passes on (`controller/wire/route_tables.py`)."""

from typing import NotRequired

from typing_extensions import TypedDict

from controller.wire.route_tables import Route


class RouteMatch(Route):
    """A route that leads to the address. `pools` are those of its endpoint, `longest_in` those of them in which no
    route is longer, `length` its prefix in bits (absent in a search for a MAC address), `recipients` counts the PEs
    that are sent it. In quarantine it has a `reason`, and leads nobody there."""

    pools: list[str]
    longest_in: list[str]
    length: NotRequired[int]
    recipients: int


class RouteMatches(TypedDict):
    """The routes to the address, the longest first: up to 1,000 and 8 MiB (`truncated`). `vpls_routes` counts the
    routes that have no addresses."""

    routes: list[RouteMatch]
    truncated: bool
    vpls_routes: int
