"""`weft route`: the route servers' tables, and why a route went where it went."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from controller.cli.arguments import OfEndpoint
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.failures import CheckFailed
from controller.cli.noun import Noun
from controller.cli.output import at, emit, plain, relative, rows, say
from controller.cli.session import session

app = Noun("route", "The looking glass: route tables of the route servers.")


class Table(StrEnum):
    """Where to look: what PEs announced, what is kept back, what was sent."""

    ADJ_IN = "adj-in"
    QUARANTINE = "quarantine"
    ADJ_OUT = "adj-out"


class Family(StrEnum):
    """Address families, as network engineers write them."""

    VPLS = "l2vpn-vpls"
    EVPN = "l2vpn-evpn"
    VPNV4 = "vpnv4"
    VPNV6 = "vpnv6"
    FLOW4 = "ipv4-flowspec"
    FLOW6 = "ipv6-flowspec"
    FLOW_VPN4 = "ipv4-flowspec-vpn"
    FLOW_VPN6 = "ipv6-flowspec-vpn"


COMMON = [
    ("SERVER", at("route_server")),
    ("NLRI", at("nlri")),
    ("ENDPOINT", at("endpoint")),
    ("FROM", at("peer")),
]
COLUMNS = {
    Table.ADJ_IN: [*COMMON, ("RT", at("rts")), ("NEXT HOP", at("next_hop"))],
    Table.QUARANTINE: [*COMMON, ("RT", at("rts")), ("REASON", at("reason"))],
    Table.ADJ_OUT: [*COMMON, ("TO", at("to")), ("RT", at("rts")), ("NEXT HOP", at("next_hop"))],
}


DIFFERENCES = [
    ("SERVER", at("route_server")),
    ("WHAT", at("kind")),
    ("NLRI", at("nlri")),
    ("FROM", at("peer")),
    ("EXPECTED RT", at("expected")),
    ("FOUND RT", at("found")),
]


@app.verb("list", "weft route list\nweft route list --table adj-out --peer c5\nweft route list --table quarantine")
def list_(
    table: Annotated[Table, typer.Option(help="Announced, kept back, or sent.")] = Table.ADJ_IN,
    route_server: Annotated[str | None, typer.Option(help="Only of this one.")] = None,
    peer: Annotated[str | None, typer.Option(help="Only of this PE.", autocompletion=names("cloudlets"))] = None,
    endpoint: OfEndpoint = None,
    vcp: Annotated[str | None, typer.Option(help="Only of members of this pool.", autocompletion=names("vcps"))] = None,
    prefix: Annotated[str | None, typer.Option(help="Only within this prefix, as in 10.1.0.0/16.")] = None,
    mac: Annotated[str | None, typer.Option(help="Only of this MAC address.")] = None,
    family: Annotated[Family | None, typer.Option(help="Only of this address family.")] = None,
    rt: Annotated[str | None, typer.Option(help="Only with this route target, as in 65000:7.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 1000,
) -> None:
    """Routes as the route servers have them."""
    asked = {"table": table, "route_server": route_server, "peer": peer, "endpoint": endpoint}
    asked |= {"vcp": vcp, "prefix": prefix, "mac": mac}
    with Client() as api:
        answer = api.get(path("routes"), **asked, family=family, rt=rt, limit=limit)
    rows(answer["items"], COLUMNS[table], f"no routes in {table} that fit")
    _unreachable(answer)
    if answer["truncated"] and not session.json:
        say(f"… and more: --limit is {limit}")


@app.verb(
    "explain", "weft route explain c1-lan c5-lan\nweft route explain c1-lan c5-lan --nlri '65000:1:1:1 (64 labels)'"
)
def explain(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Whose route.", autocompletion=names("endpoints"))],
    target: Annotated[str, typer.Argument(metavar="TO", help="Who gets it.", autocompletion=names("endpoints"))],
    nlri: Annotated[str | None, typer.Option(help="Only this one, as `weft route list` shows it.")] = None,
) -> None:
    """Why did (or didn't) a route of FROM reach TO? The chain of what happened to it, at each route server."""
    with Client() as api:
        answer = api.get(path("routes", "explain"), **{"from": source, "to": target}, nlri=nlri)
    if session.json:
        emit(answer)
        return
    for server in answer["route_servers"]:
        _explanation(server)
    _unreachable(answer)


@app.verb("diff", "weft route diff c5")
def diff(
    peer: Annotated[str, typer.Argument(metavar="PEER", help="Which PE.", autocompletion=names("cloudlets"))],
    route_server: Annotated[str | None, typer.Option(help="Only this one.")] = None,
) -> None:
    """What PEER was sent, against what the pools and the announcements say. Exit code 1 if they differ."""
    with Client() as api:
        answer = api.get(path("routes", "diff"), peer=peer, route_server=route_server)
    found = [{"route_server": s["route_server"], **d} for s in answer["route_servers"] for d in s["differences"]]
    if session.json:
        emit(answer)
    else:
        for server in answer["route_servers"]:
            away = "" if server["session"] else " (no session)"
            counts = f"{server['compared']} routes compared, {len(server['differences'])} differ"
            say(f"{plain(server['route_server'])}: generation {server['generation']}, {counts}{away}")
        if found:
            rows(found, DIFFERENCES, "")
    _unreachable(answer)
    if found:
        raise CheckFailed(f"what {peer} was sent is not what it is to have")


def _explanation(answer: dict[str, Any]) -> None:
    say(f"{plain(answer['route_server'])}: {plain(answer.get('text') or answer.get('verdict'))}")
    for route in answer.get("routes") or []:
        say(f"  {plain(route.get('nlri'))}: {plain(route.get('text') or route.get('verdict'))}")
        for step in route.get("steps") or []:
            at_time = f"  ({relative(step['at'])})" if step.get("at") else ""
            say(f"    {'✓' if step.get('ok') else '✗'} {plain(step['step']):<14} {plain(step.get('text'))}{at_time}")


def _unreachable(answer: dict[str, Any]) -> None:
    for server in answer["unreachable"]:
        typer.echo(f"weft: route server {plain(server)} did not answer: what it has is not here", err=True)


@app.verb("servers", "weft route servers")
def servers() -> None:
    """The route servers: reachable, at which generation, with which BGP sessions."""
    from controller.cli.route_servers import show_route_servers

    if not show_route_servers():
        raise CheckFailed("not every route server is well")


@app.verb("overtake", "weft route overtake")
def overtake() -> None:
    """Puts the database in force though route servers are ahead of it: it was put back from an older copy, and what
    `weft route servers` names as given back is meant to be."""
    with Client() as api:
        answer = api.post(path("route-servers", "overtake"))
    if session.json:
        emit(answer)
    else:
        say(f"overtaken: {', '.join(map(plain, answer['route_servers']))}")
