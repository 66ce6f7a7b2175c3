"""Routes held back from PEs that ended their sessions because of them, as `weft route held` shows them."""

from collections.abc import Iterable
from typing import Any

from controller.cli.cells import at, plain, prose, state
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.output import relative, rows, say
from controller.cli.session import session

COLUMNS = [
    ("SERVER", at("route_server")),
    ("FROM PE", at("peer")),
    ("NLRI", at("nlri")),
    ("ENDPOINT", at("endpoint")),
    ("ANNOUNCED BY", at("announcer")),
    ("VERDICT", state("verdict")),
    ("UNTIL", lambda row: relative(row["until"]) if row.get("until") else "it was tried"),
    ("WHY", prose("why")),
]


def show_held(peer: str | None, route_server: str | None) -> list[str]:
    """Print the routes held back. Returns the route servers that did not answer."""
    with Client() as api:
        answer = _whole(api.pages(path("routes", "held"), peer=peer, route_server=route_server))
    if session.documents:
        emit(answer)
        return list(answer["unreachable"])
    found = [{**route, "route_server": s["route_server"]} for s in answer["route_servers"] for route in s["routes"]]
    rows(found, COLUMNS, f"no route is held back{f' from {peer}' if peer else ''}")
    for server in answer["route_servers"]:
        _more(server)
    return list(answer["unreachable"])


def _whole(pages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer that the pages have together."""
    servers: dict[str, dict[str, Any]] = {}
    unreachable: dict[str, None] = {}
    for page in pages:
        unreachable |= dict.fromkeys(page["unreachable"])
        for part in page["route_servers"]:
            server = servers.setdefault(part["route_server"], part)
            if server is not part:
                server["routes"] += part["routes"]
    return {"route_servers": list(servers.values()), "unreachable": list(unreachable)}


def _more(server: dict[str, Any]) -> None:
    name = plain(server["route_server"])
    for source in server["sources"]:
        until = relative(source["until"])
        say(f"{name}: no route of {plain(source['announcer'])} is sent to {plain(source['peer'])} until {until}")
    for apart in server["apart"]:
        say(f"{name}: {plain(apart['family'])} routes are sent to {plain(apart['peer'])} in one message each")


def release(peer: str, nlri: str | None) -> list[str]:
    """Release one route, or all. Returns the route servers that did not answer."""
    with Client() as api:
        answer = api.post(path("routes", "release"), {"peer": peer, "nlri": nlri})
    if session.documents:
        emit(answer)
    else:
        for server in answer["route_servers"]:
            counts = f"{server['routes']} routes" + (f", all of {server['sources']} PEs" if server["sources"] else "")
            say(f"{plain(server['route_server'])}: released {counts}")
    return list(answer["unreachable"])
