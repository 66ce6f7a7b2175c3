"""The differences between two generations, as `weft route diff --from --to` shows them."""

from typing import Any

from controller.cli.cells import Row, at, plain, toned
from controller.cli.documents import emit
from controller.cli.output import rows, say
from controller.cli.session import session

SIGNS = {"added": "+", "joined": "+", "appears": "+", "removed": "-", "left": "-", "disappears": "-"}
ROUTES = [
    ("", lambda row: toned(SIGNS.get(row["kind"], "~"))),
    ("AT PE", at("to")),
    ("FROM", at("peer")),
    ("ENDPOINT", at("endpoint")),
    ("NLRI", at("nlri")),
    ("RT BEFORE", at("from_rts")),
    ("RT AFTER", at("to_rts")),
]


def show_generations(answer: dict[str, Any]) -> None:
    """Print the differences at each route server separately, since each may have other announcements."""
    if session.documents:
        emit(answer)
        return
    for server in answer["route_servers"]:
        _show(server)


def _show(server: Row) -> None:
    name = plain(server["route_server"])
    if "error" in server:
        say(f"{name}: {plain(server['error'])}")
        return
    counts = server["counts"]
    moved = f"{counts['appears']} appear, {counts['disappears']} disappear"
    say(
        f"{name}: generation {server['from']} → {server['to']}, routes as they are announced now: {moved}, "
        f"{counts['route-targets']} get other route targets"
    )
    for noun, key in (("PE", "peers"), ("endpoint", "endpoints")):
        for entry in server[key]:
            was, now = entry["from"], entry["to"]
            say(f"  {SIGNS.get(entry['kind'], '~')} {noun} {plain((now or was)['name'])}")
    for entry in server["vcps"]:
        say(f"  {SIGNS[entry['kind']]} VCP {plain(entry['name'])}")
    for entry in server["members"]:
        verb = "joins" if entry["kind"] == "joined" else "leaves"
        say(f"  {SIGNS[entry['kind']]} {plain(entry['endpoint'])} {verb} {plain(entry['vcp'])}")
    if server["routes"]:
        rows(server["routes"], ROUTES, "")
    if server["truncated"]:
        say("… and more: --limit")
