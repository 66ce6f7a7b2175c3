"""The numbers of routes of each PE, as `weft route counts` shows them."""

from typing import Any

from controller.cli.cells import Get, Row, at, plain, state
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.output import rows, say
from controller.cli.session import session


def total(*keys: str) -> Get:
    """Return a function that adds up the numbers below `keys`, by family or reason."""
    get = at(*keys)
    return lambda row: _sum(get(row))


def _sum(found: object) -> object:
    return sum(found.values()) if isinstance(found, dict) else found


def reasons(row: Row) -> object:
    """Return the number of routes in quarantine for each reason."""
    return [f"{plain(name)} {count}" for name, count in sorted(row["routes"]["quarantined"].items())]


COLUMNS = [
    ("SERVER", at("route_server")),
    ("PE", at("peer")),
    ("STATE", state("state")),
    ("IN", total("routes", "in")),
    ("ACCEPTED", total("routes", "accepted")),
    ("QUARANTINED", reasons),
    ("OUT", total("routes", "out")),
    ("WITHHELD", total("routes", "withheld")),
    ("HELD BACK", total("routes", "held")),
    ("ANNOUNCED", total("totals", "routes_announced")),
    ("WITHDRAWN", total("totals", "routes_withdrawn")),
    ("SENT", total("totals", "routes_sent")),
    ("UNSENT", total("totals", "withdrawals_sent")),
    ("POISON", at("totals", "poison_routes")),
]


def show_counts(peer: str | None, route_server: str | None) -> list[str]:
    """Print the numbers of all PEs, or every number of one. Returns the route servers that did not answer."""
    items: list[dict[str, Any]] = []
    unreachable: dict[str, None] = {}
    with Client() as api:
        for page in api.pages(path("routes", "counts"), peer=peer, route_server=route_server):
            items += page["items"]
            unreachable |= dict.fromkeys(page["unreachable"])
    if session.documents:
        emit(items)
    elif peer is None or not session.prose:
        rows(items, COLUMNS, "no PEs")
    else:
        for one in items:
            _every(one)
    return list(unreachable)


def _every(one: dict[str, Any]) -> None:
    """Print every number of a PE that is not zero."""
    say(f"{plain(one['route_server'])}: {plain(one['peer'])}, {plain(one['state'])}")
    for part, title in (("routes", "now"), ("totals", "since the route server started")):
        say(f"  {title}:")
        for name, value in one[part].items():
            for key, count in value.items() if isinstance(value, dict) else [("", value)]:
                if count:
                    say(f"    {plain(name).replace('_', ' ')}{f' {plain(key)}' if key else ''}: {count:,}")
