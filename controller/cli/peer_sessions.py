"""The BGP sessions of a PE: their reset, one route server after the other, and the refresh of their routes."""

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from controller.cli.cells import plain
from controller.cli.client import Client, path
from controller.cli.confirmation import confirm, interactive
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed
from controller.cli.output import done, say
from controller.cli.session import session

EVERY, PATIENCE = 2.0, 120.0
"""Seconds between two looks whether a session is back, and seconds after which the next one is left alone."""

UP = "established"

Session = dict[str, Any]


class Direction(StrEnum):
    """Routes that the PE announces, those that it is sent, or both."""

    IN = "in"
    OUT = "out"
    BOTH = "both"


def reset(peer: str, route_server: str | None, text: str, *, at_once: bool, yes: bool) -> list[str]:
    """Reset the sessions of a PE: that with one route server, or all, each once the one before is back unless
    `at_once`. Returns the route servers that did not answer. Raises CheckFailed if a session does not come back."""
    with Client() as api:
        found = _sessions(api, peer)
        names = [
            name for name in found if route_server in (None, name) and found[name]["state"] not in ("idle", "active")
        ]
        if names and interactive() and not yes:
            say(*_effect(peer, names, found, at_once))
        confirm(f"weft route reset {peer}", yes)
        if at_once or len(names) < 2:
            only = route_server or (names[0] if len(names) == 1 else None)  # the others have nothing to end
            answers = [api.post(path("routes", "reset"), _body(peer, only, text))]
        else:
            answers = []
            for before, name in zip(["", *names], names, strict=False):
                if before and not _back(api, peer, before, found[before].get("since")):
                    reason = f"{peer} has no session with {before} after {PATIENCE:g} s: that with {name} is left alone"
                    raise CheckFailed(reason, f"  `weft route reset {peer} --route-server {name}` resets it")
                answers.append(api.post(path("routes", "reset"), _body(peer, name, text)))
                if session.prose:
                    say(*map(_ended, answers[-1]["route_servers"]))
    whole = _whole(answers)
    if session.documents:
        emit(whole)
    elif at_once or len(names) < 2:
        say(*map(_ended, whole["route_servers"]))
    return _refused(whole)


def refresh(peer: str, route_server: str | None, direction: Direction, family: str | None) -> list[str]:
    """Have the routes of a PE exchanged again without a reset. Returns the route servers that did not answer."""
    body = _body(peer, route_server) | {"direction": direction.value} | ({"family": family} if family else {})
    with Client() as api:
        answer = api.post(path("routes", "refresh"), body)
    done(answer, *(_begun(peer, server) for server in answer["route_servers"]))
    return _refused(answer)


def _body(peer: str, route_server: str | None, text: str = "") -> dict[str, Any]:
    return {"peer": peer} | ({"route_server": route_server} if route_server else {}) | ({"text": text} if text else {})


def _sessions(api: Client, peer: str) -> dict[str, Session]:
    """Return the sessions of a PE by route server."""
    return {
        server["name"]: one
        for server in api.items(path("route-servers"))
        for one in server.get("sessions") or []
        if one["peer"] == peer
    }


def _back(api: Client, peer: str, route_server: str, since: object) -> bool:
    """Wait for the session after the one that began at `since`. Returns False after PATIENCE."""
    for _ in range(int(PATIENCE / EVERY)):
        time.sleep(EVERY)
        one = _sessions(api, peer).get(route_server)
        if one is not None and one["state"] == UP and one.get("since") != since:
            return True
    return False


def _effect(peer: str, ended: Sequence[str], found: dict[str, Session], at_once: bool) -> list[str]:
    """Return what a reset interrupts, in words: the sessions with the route servers `ended`."""
    lines = [f"This ends the sessions of {plain(peer)} with:"]
    for name in ended:
        counts = (
            f"{found[name].get('prefixes_in', 0)} routes of it, {found[name].get('prefixes_out', 0)} that it is sent"
        )
        lines.append(f"  {plain(name)}, {plain(found[name]['state'])}: {counts}")
    others = [name for name in found if name not in ended and found[name]["state"] == UP]
    if others:
        return [*lines, f"Meanwhile {', '.join(map(plain, others))} serves it."]
    if len(ended) > 1 and not at_once:
        return [*lines, "Each one ends when the one before is back, so that one always serves it."]
    return [*lines, "No other route server serves it meanwhile: without graceful restart its LANs are cut off."]


def _ended(server: dict[str, Any]) -> str:
    kept = "; both ends keep them until it is back" if server["graceful"] else ""
    counts = f"{server['prefixes_in']} routes of it, {server['prefixes_out']} that it was sent{kept}"
    return f"{plain(server['route_server'])}: the session ({plain(server['was'])}) is reset: {counts}"


def _begun(peer: str, server: dict[str, Any]) -> str:
    parts = []
    if server["asked"]:
        parts.append(f"{plain(peer)} is asked for its routes ({plain(server['asked'])})")
    if server["resent"]:
        parts.append(f"{plain(peer)} is sent its routes ({plain(server['resent'])})")
    return f"{plain(server['route_server'])}: {' and '.join(parts)}"


def _whole(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the answers as one."""
    return {
        name: [one for answer in answers for one in answer[name]]
        for name in ("route_servers", "refused", "unreachable")
    }


def _refused(answer: dict[str, Any]) -> list[str]:
    """Return the route servers that did not answer. Raises CheckFailed if one has refused to do anything."""
    if answer["refused"]:
        raise CheckFailed(*(f"{plain(one['route_server'])}: {plain(one['message'])}" for one in answer["refused"]))
    return list(answer["unreachable"])
