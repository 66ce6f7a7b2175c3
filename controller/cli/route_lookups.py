"""The routes that lead to an address, as `weft route lookup` shows them."""

import ipaddress
import re
from typing import Any

from controller.cli.cells import at, plain, prose
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import WrongUsage
from controller.cli.output import rows, say
from controller.cli.session import session

COLUMNS = [
    ("SERVER", at("route_server")),
    ("PE", at("peer")),
    ("ENDPOINT", at("endpoint")),
    ("NLRI", at("nlri")),
    ("NEXT HOP", at("next_hop")),
    ("REACHED IN", at("longest_in")),
    ("SENT TO", at("recipients")),
    ("QUARANTINE", prose("reason")),
]
LANS = [
    ("LAN", at("prefix")),
    ("ENDPOINT", at("endpoint")),
    ("CLOUDLET", at("cloudlet")),
    ("VCPS", at("vcps")),
]

MAC = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")


def show_lookup(text: str, route_server: str | None) -> list[str]:
    """Print the routes to an address, a prefix or a MAC address. Returns the route servers that did not answer. Raises
    WrongUsage."""
    with Client() as api:
        answer = api.get(path("routes", "lookup"), **_asked(text), route_server=route_server)
    unreachable = list(answer["unreachable"])
    if session.documents:
        emit(answer)
        return unreachable
    found = [{**route, "route_server": s["route_server"]} for s in answer["route_servers"] for route in s["routes"]]
    rows(found, COLUMNS, f"no route leads to {text}")
    if not session.prose:
        return unreachable
    if answer["lans"]:
        say("", "It is in these LANs:")
        rows(answer["lans"], LANS, "")
    for server in answer["route_servers"]:
        _notes(server)
    return unreachable


def _notes(server: dict[str, Any]) -> None:
    name = plain(server["route_server"])
    if server["truncated"]:
        say(f"{name}: there are more than these")
    if count := server["vpls_routes"]:
        say(f"{name}: {count} VPLS routes have no addresses; `weft lease list` says which machine has an address there")


def _asked(text: str) -> dict[str, str]:
    """Return the query for an address, a prefix or a MAC address. Raises WrongUsage."""
    if MAC.fullmatch(text):
        return {"mac": text.replace("-", ":").lower()}
    try:
        if "/" in text:
            return {"prefix": str(ipaddress.ip_network(text))}
        return {"address": str(ipaddress.ip_address(text))}
    except ValueError as error:
        raise WrongUsage(f"{text!r} is not an address, a prefix or a MAC address: {error}") from None
