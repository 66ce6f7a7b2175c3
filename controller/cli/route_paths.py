"""All announcements of one route, as `weft route show` shows them."""

import json
from collections.abc import Iterator
from typing import Any

from controller.cli.cells import at, plain, prose, state
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed
from controller.cli.output import relative, rows, say, when
from controller.cli.session import session

COLUMNS = [
    ("SERVER", at("route_server")),
    ("FROM", at("peer")),
    ("ENDPOINT", at("endpoint")),
    ("STATE", state("state")),
    ("POOLS", at("pools")),
    ("RT", at("rts")),
    ("NEXT HOP", at("next_hop")),
    ("RECEIVED", when("received_at")),
    ("SENT TO", lambda row: sum(len(form["to"]) for form in row["sent"])),
    ("REASON", prose("reason")),
]


def show_route(nlri: str, route_server: str | None, *, all_: bool) -> list[str]:
    """Print the announcements of a route; with `all_` each attribute, and each recipient. Returns the route servers
    that did not answer. Raises CheckFailed if no route server has such a route."""
    with Client() as api:
        answer = api.get(path("routes", "paths"), nlri=nlri, route_server=route_server)
    found = [{"route_server": s["route_server"], **one} for s in answer["route_servers"] for one in s["paths"]]
    if session.documents:
        emit(answer)
    elif all_ and session.prose:
        for one in found:
            say(*_lines(one), "")
    elif found or not session.prose:
        rows(found, COLUMNS, "")
    for server in answer["route_servers"]:
        _notes(server)
    if not found:
        raise CheckFailed(f"no PE announces {nlri}: `weft route list` has the names of routes")
    return list(answer["unreachable"])


def _notes(server: dict[str, Any]) -> None:
    if not session.prose:
        return
    name = plain(server["route_server"])
    for gone in server["withdrawn"]:
        ago = relative(gone["at"]) if gone.get("at") else "before"
        say(f"{name}: {plain(gone['peer'])} has withdrawn {plain(gone['nlri'])} ({ago})")
    if server["truncated"]:
        say(f"{name}: there are more than these")


def _lines(one: dict[str, Any]) -> Iterator[str]:
    """Yield everything about an announcement, a line each."""
    where = f" of endpoint {plain(one['endpoint'])}" if one.get("endpoint") else ""
    why = f" ({plain(one['reason'])})" if one.get("reason") else ""
    name = f"{plain(one['nlri'])} from {plain(one['peer'])}"
    yield f"{plain(one['route_server'])}: {name}{where}: {plain(one['state'])}{why}"
    yield f"  family: {plain(one['family'])}, key {plain(one['key'])}"
    if one["pools"]:
        yield f"  pools: {plain(one['pools'])}"
    for name in ("received_at", "stale_until"):
        if one.get(name):
            yield f"  {name.replace('_', ' ')}: {plain(one[name])}"
    if one.get("long_lived"):
        yield "  long-lived stale"
    yield f"  route targets: {plain(one['rts'])}"
    yield from _attributes(one["next_hop"], one["attributes"], "  ")
    for name, value in one["details"].items():
        yield f"  {plain(name)}: {plain(value)}"
    for form in one["sent"]:
        yield f"  sent to PEs {'of another AS' if form['external'] else 'of the same AS'}:"
        yield from _attributes(form["next_hop"], form["attributes"], "    ")
        yield from (f"    {_recipient(to)}" for to in form["to"])


def _attributes(next_hop: str, attributes: dict[str, Any], indent: str) -> Iterator[str]:
    if next_hop:
        yield f"{indent}next hop: {plain(next_hop)}"
    for name, value in attributes.items():
        yield f"{indent}{plain(name)}: {_value(value)}"


def _value(value: object) -> str:
    """Return an attribute's value; without its type, which its name says."""
    if isinstance(value, dict):
        rest = {key: one for key, one in value.items() if key != "type"}
        value = rest.get("value") if list(rest) == ["value"] else rest
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        return plain(json.dumps(value, ensure_ascii=False))
    return plain(value)


def _recipient(to: dict[str, Any]) -> str:
    sent = f"sent {relative(to['sent_at'])}" if to.get("sent_at") else "waits"
    if to.get("withheld"):
        sent = f"withheld ({plain(to['withheld'])})"
    if to.get("held"):
        sent = f"held back: {plain(to['held']['verdict'])} ({plain(to['held']['why'])})"
    return f"{plain(to['peer'])}, route targets {plain(to['rts'])}: {sent}"
