"""The comparison of a route server's Adj-RIB-Out with a naive model of who may see what (RFC 4364's import by route
target, with the pools in the place of configured targets)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from controller.core.doctor.difference import Difference, listed
from controller.core.doctor.kinds import DifferenceKind
from controller.wire.rulesets import RuleSet


@dataclass(frozen=True, slots=True)
class Route:
    """A line of the looking glass. `key` identifies the NLRI within its family, `peer` announced it, and it was sent
    `to` this PE (Adj-RIB-Out only). `reason` is why it is in quarantine, `withheld` why `to` is not sent a route that
    it should have, `held` why the route is held back from `to`, which ended its session for it
    (docs/network/poison.md)."""

    family: str
    key: str
    nlri: str
    endpoint: str
    peer: str
    rts: frozenset[str]
    to: str = ""
    reason: str = ""
    withheld: str = ""
    held: str = ""

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Route":
        """Return the route from the JSON of the control API's `GET /v1/routes`."""
        return cls(
            family=line["family"],
            key=line.get("key") or line["nlri"],
            nlri=line["nlri"],
            endpoint=line.get("endpoint") or "",
            peer=line["peer"],
            rts=_targets(tuple(line.get("rts") or ())),
            to=line.get("to") or "",
            reason=line.get("reason") or "",
            withheld=line.get("withheld") or "",
            held=_held(line.get("held")),
        )


@lru_cache(maxsize=4096)
def _targets(rts: tuple[str, ...]) -> frozenset[str]:
    """Return the same set for the same route targets: a hundred thousand routes have few, and each set is work for the
    garbage collector, during which nothing else runs."""
    return frozenset(rts)


def _held(held: dict[str, Any] | None) -> str:
    if not held:
        return ""
    until = f" until {held['until']}" if held.get("until") else " until it was tried"
    return f"{held.get('verdict')}{until}: {held.get('why')}"


@dataclass(frozen=True)
class RouteServer:
    """The observations of one route server. `rule_set` is None when it could not be reached; `error` says why, or why
    it is not brought up to date. `sessions` gives the FSM state by peer, in lower case. `barred` are pairs of a
    recipient and an announcer: the recipient is sent no route of the announcer (docs/network/poison.md). `version` is
    its release, empty if it does not say. `beyond` are the tables with more routes than are compared; only the first
    ones of those are here."""

    name: str
    rule_set: RuleSet | None
    sessions: dict[str, str] = field(default_factory=dict)
    adj_in: Sequence[Route] = ()
    adj_out: Sequence[Route] = ()
    quarantine: Sequence[Route] = ()
    error: str = ""
    barred: frozenset[tuple[str, str]] = frozenset()
    version: str = ""
    beyond: tuple[str, ...] = ()


Sent = tuple[str, str, str]  # family, key, recipient

_LOOP = "loop"  # a PE of another AS gives one route server what the other one has sent it


def compare_ribs(intent: RuleSet, server: RouteServer) -> Iterator[Difference]:
    """Yield the differences in sessions, announcements, quarantine, and all sent routes. A part of a table does not
    tell which routes are missing, so that is not compared."""
    if server.rule_set is None:
        return
    yield from _sessions(intent, server)
    if "adj-in" not in server.beyond:
        yield from _announced(intent, server)
    for route in server.quarantine:
        if route.reason == _LOOP:
            continue
        yield Difference(
            DifferenceKind.QUARANTINE,
            f"quarantine of {server.name}",
            route.nlri,
            "accepted",
            route.reason,
            f"{server.name} keeps {route.nlri} from {route.peer} with route target {listed(route.rts)} in quarantine: "
            f"{route.reason or 'no reason given'}.",
        )
    if not {"adj-in", "adj-out"} & set(server.beyond):
        yield from _sent(intent, server)
    yield from _held_back(server)


def _held_back(server: RouteServer) -> Iterator[Difference]:
    """Yield the routes that are held back from a PE that cannot take them: isolation holds, and missing routes are
    named."""
    where = f"Adj-RIB-Out of {server.name}"
    for route in server.adj_out:
        if route.held:
            text = (
                f"{server.name} holds {route.nlri} of {route.endpoint} back from {route.to}, which ended its session "
                f"for it ({route.held})."
            )
            subject = f"{route.nlri} of {route.endpoint} to {route.to}"
            yield Difference(DifferenceKind.HELD_BACK, where, subject, "sent", "held back", text)
    for to, peer in sorted(server.barred):
        text = f"{server.name} sends {to} no route of {peer}: too many of them have ended its sessions."
        yield Difference(DifferenceKind.HELD_BACK, where, f"routes of {peer} to {to}", "sent", "held back", text)


def _sessions(intent: RuleSet, server: RouteServer) -> Iterator[Difference]:
    """Yield the sessions that are down. A PE without an endpoint has no routes to exchange, and its agent configures it
    with the first one."""
    needed = {endpoint.peer for endpoint in intent.endpoints}
    for peer in intent.peers:
        state = server.sessions.get(peer.name, "none")
        if state != "established" and peer.name in needed:
            yield Difference(
                DifferenceKind.SESSION_DOWN,
                f"BGP at {server.name}",
                f"session with {peer.name}",
                "established",
                state,
                f"{server.name} has no established BGP session with {peer.name} ({peer.address}), it is in state "
                f"{state}: look at the PE's speaker and the path between them.",
            )


def _announced(intent: RuleSet, server: RouteServer) -> Iterator[Difference]:
    """Yield the endpoints that a PE with an established session does not announce: a label block, or an inclusive
    multicast route."""
    heard = {route.endpoint for route in server.adj_in}
    for endpoint in intent.endpoints:
        if server.sessions.get(endpoint.peer) == "established" and endpoint.name not in heard:
            yield Difference(
                DifferenceKind.NOT_ANNOUNCED,
                f"Adj-RIB-In of {server.name}",
                endpoint.name,
                f"a route with {endpoint.rt}",
                "none",
                f"{endpoint.peer} has a session with {server.name} and announces nothing for {endpoint.name} "
                f"(route target {endpoint.rt}): nobody can reach this LAN.",
            )


def expected_routes(intent: RuleSet, server: RouteServer) -> dict[Sent, frozenset[str]]:
    """Return the route targets with which each route is to be sent to each PE that has another member of its pools."""
    endpoints = {endpoint.name: endpoint for endpoint in intent.endpoints}
    together: dict[str, set[str]] = defaultdict(set)
    for vcp in intent.vcps:
        for name in vcp.members:
            together[name].update(vcp.members)
    targets: dict[Sent, frozenset[str]] = {}
    for route in server.adj_in:
        source = endpoints.get(route.endpoint)
        for recipient in (endpoints[name] for name in together[route.endpoint] if name in endpoints):
            barred = source is not None and (recipient.peer, source.peer) in server.barred
            if source and not barred and recipient != source and server.sessions.get(recipient.peer) == "established":
                sent = (route.family, route.key, recipient.peer)
                rewritten = frozenset(recipient.rt if rt == source.rt else rt for rt in route.rts)
                targets[sent] = targets[sent] | rewritten if sent in targets else rewritten
    return targets


def _sent(intent: RuleSet, server: RouteServer) -> Iterator[Difference]:
    where = f"Adj-RIB-Out of {server.name}"
    wanted = expected_routes(intent, server)
    found: dict[Sent, frozenset[str]] = {}
    for route in server.adj_out:
        sent = (route.family, route.key, route.to)
        if route.withheld:
            wanted.pop(sent, None)
            yield _withheld(where, server, route)
            continue
        found[sent] = found[sent] | route.rts if sent in found else route.rts
    different = [sent for sent in wanted.keys() | found.keys() if wanted.get(sent) != found.get(sent)]
    lines = {(r.family, r.key): r for r in [*server.adj_out, *server.adj_in]} if different else {}
    for sent in sorted(different):
        family, key, to = sent
        line = lines[family, key]
        subject = f"{line.nlri} of {line.endpoint or line.peer} to {to}"
        if sent not in found:
            text = f"{server.name} does not send {line.nlri} of {line.endpoint} to {to}, though they share a VCP."
            yield Difference(DifferenceKind.NOT_SENT, where, subject, listed(wanted[sent]), "not sent", text)
        elif sent not in wanted:
            text = (
                f"{server.name} sends {line.nlri} of {line.endpoint or line.peer} to {to} with {listed(found[sent])}, "
                f"and no VCP allows it: the isolation of pools is broken."
            )
            yield Difference(DifferenceKind.LEAK, where, subject, "not sent", listed(found[sent]), text)
        else:
            text = (
                f"{server.name} sends {line.nlri} of {line.endpoint} to {to} with route target {listed(found[sent])}; "
                f"it should be {listed(wanted[sent])}."
            )
            yield Difference(
                DifferenceKind.ROUTE_TARGET, where, subject, listed(wanted[sent]), listed(found[sent]), text
            )


def _withheld(where: str, server: RouteServer, route: Route) -> Difference:
    """Return the difference about a route that a PE lacks because the route does not fit into a message."""
    cure = "its BGP speaker must offer extended messages (RFC 8654), or the announcing PE send fewer attributes"
    return Difference(
        DifferenceKind.NOT_SENT,
        where,
        f"{route.nlri} of {route.endpoint or route.peer} to {route.to}",
        "sent",
        f"withheld: {route.withheld}",
        f"{server.name} does not send {route.nlri} of {route.endpoint or route.peer} to {route.to}: it does not fit "
        f"into a message that {route.to} takes; {cure}.",
    )
