"""`weft route`: the route servers' tables, and the reasons for each route's way."""

from typing import Annotated, Any

import typer

from controller.cli import peer_sessions
from controller.cli.arguments import OfEndpoint
from controller.cli.cells import Row, at, plain, prose, state
from controller.cli.changes import latest
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.documents import emit, stream
from controller.cli.failures import CheckFailed, WrongUsage
from controller.cli.generations import show_generations
from controller.cli.noun import Noun, Yes
from controller.cli.output import complain, relative, rows, say
from controller.cli.peer_sessions import Direction
from controller.cli.route_filters import (
    Mac,
    OfFamily,
    OfPeer,
    OfServer,
    OfVcp,
    OnePeer,
    PeerArgument,
    Prefix,
    Reason,
    Rt,
    Table,
)
from controller.cli.session import session

app = Noun("route", "The looking glass: route tables of the route servers.")


def _label(row: Row) -> object:
    """Return the MPLS label or label block, or the VNI, of a route."""
    details = row.get("details") or {}
    if "label_base" in details:
        return f"{details['label_base']}-{details['label_base'] + max(details['size'], 1) - 1}"
    return details.get("label", details.get("vni"))


COMMON = [
    ("SERVER", at("route_server")),
    ("NLRI", at("nlri")),
    ("ENDPOINT", at("endpoint")),
    ("FROM", at("peer")),
]
REACH = [("RT", at("rts")), ("NEXT HOP", at("next_hop")), ("LABEL", _label)]
COLUMNS = {
    Table.ADJ_IN: [*COMMON, *REACH],
    Table.QUARANTINE: [*COMMON, ("RT", at("rts")), ("REASON", prose("reason"))],
    Table.POOLS: [("VCP", at("pool")), *COMMON, *REACH],
    Table.ADJ_OUT: [
        *COMMON,
        ("TO", at("to")),
        *REACH,
        ("WITHHELD", state("withheld")),
        ("HELD BACK", state("held", "verdict")),
    ],
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
    table: Annotated[Table, typer.Option(help="Announced, in quarantine, in pools, or sent.")] = Table.ADJ_IN,
    route_server: OfServer = None,
    peer: OfPeer = None,
    endpoint: OfEndpoint = None,
    vcp: OfVcp = None,
    prefix: Prefix = None,
    mac: Mac = None,
    family: OfFamily = None,
    rt: Rt = None,
    reason: Annotated[Reason | None, typer.Option(help="Only for this reason: with --table quarantine.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum routes.")] = 1000,
) -> None:
    """List routes as the route servers have them."""
    asked = {"table": table, "route_server": route_server, "peer": peer, "endpoint": endpoint}
    asked |= {"vcp": vcp, "prefix": prefix, "mac": mac}
    with Client() as api:
        answer = _listed(api, limit, **asked, family=family, rt=rt, reason=reason)
    rows(answer["items"], COLUMNS[table], f"no routes in {table} that fit")
    _unreachable(answer)
    if answer["truncated"]:
        (say if session.prose else complain)(f"… and more: --limit is {limit}")


def _listed(api: Client, limit: int, **asked: object) -> dict[str, Any]:
    """Return the first `limit` routes, page by page, as one page."""
    items: list[dict[str, Any]] = []
    unreachable: dict[str, None] = {}
    cursor = None
    while True:
        page = api.get(path("routes"), **asked, limit=limit - len(items), cursor=cursor)
        items += page["items"]
        unreachable |= dict.fromkeys(page["unreachable"])
        cursor = page.get("next")
        if not cursor or len(items) >= limit:
            return {"items": items, "truncated": page["truncated"], "unreachable": list(unreachable)}


@app.verb("explain", "weft route explain c1-lan c5-lan\nweft route explain c1-lan c5-lan --nlri 65000:1:1:1")
def explain(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The announcer.", autocompletion=names("endpoints"))],
    target: Annotated[str, typer.Argument(metavar="TO", help="The receiver.", autocompletion=names("endpoints"))],
    nlri: Annotated[str | None, typer.Option(help="Only this route, as in `weft route list`.")] = None,
) -> None:
    """Explain why a route of FROM did or did not reach TO. Shows the steps of the route at each route server."""
    with Client() as api:
        answer = api.get(path("routes", "explain"), **{"from": source, "to": target}, nlri=nlri)
    if session.documents:
        emit(answer)
        return
    for server in answer["route_servers"]:
        _explanation(server)
    _unreachable(answer)


@app.verb(
    "diff",
    "weft route diff c5\nweft route diff --last\nweft route diff c5 --from 41 --to 42",
)
def diff(
    peer: OnePeer = None,
    earlier: Annotated[
        int | None, typer.Option("--from", metavar="GENERATION", min=0, help="The earlier of the two generations.")
    ] = None,
    later: Annotated[int | None, typer.Option("--to", metavar="GENERATION", min=0, help="The later one.")] = None,
    last: Annotated[bool, typer.Option("--last", help="The latest change and the one before.")] = False,
    route_server: OfServer = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum routes, for generations.")] = 1000,
) -> None:
    """Compare the routes sent to PEER with those that it should have. Ends with 1 if they differ.

    Or compare two generations: the differences in the pools, and their effect on the routes that are announced now, at
    all PEs or at PEER. --last compares the latest change."""
    if last and (earlier is not None or later is not None):
        raise WrongUsage("--last is a --from and a --to: give either")
    if (earlier is None) != (later is None) or (peer is None and earlier is None and not last):
        raise WrongUsage("give a PEER, or --last, or --from and --to, or a PEER with either")
    with Client() as api:
        if last:
            later = latest(api)
            earlier = later - 1
        asked = {"peer": peer, "from": earlier, "to": later, "limit": None if earlier is None else limit}
        answer = api.get(path("routes", "diff"), **asked, route_server=route_server)
    if earlier is not None:
        show_generations(answer)
        _unreachable(answer)
        return
    found = [{"route_server": s["route_server"], **d} for s in answer["route_servers"] for d in s["differences"]]
    if session.documents:
        emit(answer)
    else:
        for server in answer["route_servers"]:
            away = "" if server["session"] else " (no session)"
            counts = f"{server['compared']} routes compared, {_total(server, 'differences')} differ"
            say(f"{plain(server['route_server'])}: generation {server['generation']}, {counts}{away}")
            for kept in server.get("withheld") or []:
                say(f"  not sent: {plain(kept['nlri'])} of {plain(kept['peer'])} ({plain(kept['reason'])})")
            for kept in server.get("held") or []:
                say(f"  held back: {plain(kept['nlri'])} of {plain(kept['peer'])}")
            for name, what in (("differences", "differences"), ("withheld", "not sent"), ("held", "held back")):
                if more := _total(server, name) - len(server.get(name) or []):
                    say(f"  {what}: {more} more, which are not listed")
        if found:
            rows(found, DIFFERENCES, "")
    _unreachable(answer)
    if found:
        raise CheckFailed(f"the routes sent to {peer} differ from those that the intent gives it")


def _total(server: dict[str, Any], name: str) -> int:
    """Return the total number. A route server of an older release lists all without a total."""
    return int((server.get("counts") or {}).get(name, len(server.get(name) or [])))


@app.verb("watch", "weft route watch\nweft route watch --vcp blue --peer c5\nweft route watch --output json | jq .nlri")
def watch(
    route_server: OfServer = None,
    peer: OfPeer = None,
    endpoint: OfEndpoint = None,
    vcp: OfVcp = None,
    prefix: Prefix = None,
    mac: Mac = None,
    family: OfFamily = None,
    rt: Rt = None,
) -> None:
    """Print routes as they are announced, sent and withdrawn, until Ctrl-C. With JSON, one document a line.

    A route server that restarts is lost, and watched again when it is back."""
    asked = {"route_server": route_server, "peer": peer, "endpoint": endpoint, "vcp": vcp}
    asked |= {"prefix": prefix, "mac": mac, "family": family, "rt": rt}
    with Client() as api:
        for _, change in api.events(path("routes", "watch"), None, **asked):
            if session.documents:
                stream(change)
            else:
                say(_change(change))


def _change(change: dict[str, Any]) -> str:
    what = f"{plain(change['route_server']):<8} {plain(change['kind']):<11}"
    if "nlri" not in change:
        return f"{'':<12} {what} {plain(change.get('text') or '')}".rstrip(" -")
    way = f"{plain(change['peer'])} > {plain(change['to'])}" if change.get("to") else plain(change["peer"])
    why = change.get("reason") or change.get("withheld")
    reason = f" ({plain(why)})" if why else ""
    clock = str(change.get("at"))[11:23].rstrip("Z")
    return f"{clock:<12} {what} {way:<16} {plain(change['nlri'])}  rt {plain(change['rts'])}{reason}"


def _explanation(answer: dict[str, Any]) -> None:
    say(f"{plain(answer['route_server'])}: {plain(answer.get('text') or answer.get('verdict'))}")
    for route in answer.get("routes") or []:
        say(f"  {plain(route.get('nlri'))}: {plain(route.get('text') or route.get('verdict'))}")
        for step in route.get("steps") or []:
            at_time = f"  ({relative(step['at'])})" if step.get("at") else ""
            say(f"    {'✓' if step.get('ok') else '✗'} {plain(step['step']):<14} {plain(step.get('text'))}{at_time}")


def _unreachable(answer: dict[str, Any]) -> None:
    for server in answer["unreachable"]:
        complain(f"route server {plain(server)} did not answer: what it has is not here")


@app.verb(
    "show", "weft route show 65000:1:1:1\nweft route show 65000:1:1:1 --all\nweft route show 00110000fde8 -o json"
)
def show(
    nlri: Annotated[str, typer.Argument(metavar="ROUTE", help="Its NLRI or key, as in `weft route list`.")],
    all_: Annotated[bool, typer.Option("--all", help="Every attribute, and everybody to whom it is sent.")] = False,
    route_server: OfServer = None,
) -> None:
    """Show all announcements of one route: by whom, accepted or in quarantine, and to how many PEs it is sent."""
    from controller.cli.route_paths import show_route

    _unreachable({"unreachable": show_route(nlri, route_server, all_=all_)})


@app.verb(
    "lookup",
    "weft route lookup 10.1.0.5\nweft route lookup 2001:db8:1::/64\nweft route lookup 02:00:5e:00:00:01",
)
def lookup(
    address: Annotated[str, typer.Argument(metavar="ADDRESS|PREFIX|MAC", help="The destination.")],
    route_server: OfServer = None,
) -> None:
    """Find the routes that lead to an address: the longest matches in each pool, and the PEs that have them."""
    from controller.cli.route_lookups import show_lookup

    _unreachable({"unreachable": show_lookup(address, route_server)})


@app.verb("counts", "weft route counts\nweft route counts c5")
def counts(
    peer: OnePeer = None,
    route_server: OfServer = None,
) -> None:
    """Count the routes of each PE: announced, accepted, in quarantine by reason, sent, withdrawn, poison. With PEER,
    show each of its numbers, by family and reason."""
    from controller.cli.route_counts import show_counts

    _unreachable({"unreachable": show_counts(peer, route_server)})


@app.verb(
    "refresh",
    "weft route refresh c5\nweft route refresh c5 --direction both --family l2vpn-evpn --route-server rs1",
)
def refresh(
    peer: PeerArgument,
    direction: Annotated[
        Direction, typer.Option(help="Ask it for its routes, send it its routes, or both.")
    ] = Direction.IN,
    family: OfFamily = None,
    route_server: OfServer = None,
) -> None:
    """Exchange the routes of PEER again without ending its session (RFC 2918)."""
    _unreachable({"unreachable": peer_sessions.refresh(peer, route_server, direction, family)})


@app.verb(
    "reset",
    "weft route reset c5\nweft route reset c5 --route-server rs1 --text 'ticket 17'\nweft route reset c5 --soft",
)
def reset(
    peer: PeerArgument,
    route_server: OfServer = None,
    text: Annotated[str, typer.Option(help="For the operators of the PE (RFC 9003).")] = "",
    soft: Annotated[bool, typer.Option("--soft", help="Only refresh its routes, in both directions.")] = False,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="All sessions at the same time, and do not wait for one to be back.")
    ] = False,
    yes: Yes = False,
) -> None:
    """End the BGP sessions of PEER, which opens them again: one route server after the other, each once the session
    with the one before is back."""
    if soft:
        away = peer_sessions.refresh(peer, route_server, Direction.BOTH, None)
    else:
        away = peer_sessions.reset(peer, route_server, text, at_once=at_once, yes=yes)
    _unreachable({"unreachable": away})


@app.verb("held", "weft route held\nweft route held c5")
def held(
    peer: OnePeer = None,
    route_server: OfServer = None,
) -> None:
    """List routes held back from a PE, because it ended its session over them."""
    from controller.cli.held import show_held

    _unreachable({"unreachable": show_held(peer, route_server)})


@app.verb("release", "weft route release c5\nweft route release c5 65000:1:1:1")
def release(
    peer: PeerArgument,
    nlri: Annotated[
        str | None, typer.Argument(metavar="ROUTE", help="Only this route, as `weft route held` shows it.")
    ] = None,
) -> None:
    """Send PEER the routes again that are held back from it, for example after its repair."""
    from controller.cli import held as holding

    _unreachable({"unreachable": holding.release(peer, nlri)})


@app.verb("servers", "weft route servers")
def servers() -> None:
    """List the route servers, with their state, generation and BGP sessions."""
    from controller.cli.route_servers import show_route_servers

    if not show_route_servers():
        raise CheckFailed("not every route server is well")


@app.verb("overtake", "weft route overtake")
def overtake() -> None:
    """Put the database in force although route servers are ahead of it. Use it after restoring an older copy, if the
    access that `weft route servers` names as given back is intended."""
    with Client() as api:
        answer = api.post(path("route-servers", "overtake"))
    if session.documents:
        emit(answer)
    else:
        say(f"overtaken: {', '.join(map(plain, answer['route_servers']))}")
