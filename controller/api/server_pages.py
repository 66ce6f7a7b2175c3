"""Questions to route servers: to all of them at the same time, or for a page of a list that each of them has, one route
server after the other."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from controller.api.pages import after_pair, not_ours, write_cursor
from controller.api.verbatim import Json
from controller.region import Region
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.routeservers.sync import RouteServerSync
from controller.runtime.problems import Problem

Limit = Annotated[int, Query(ge=1, le=10_000, description="How many items at most.")]
Cursor = Annotated[str | None, Query(max_length=600, description="`next` of the page before.")]

Question = Callable[[RouteServerClient], Awaitable[Json]]
Listing = Callable[[RouteServerClient, dict[str, str]], Awaitable[Json]]


@dataclass(frozen=True)
class ServerPage:
    """The parts of a page, by route server; the cursor of the following page, None at the end; and the route servers
    that did not answer."""

    parts: list[tuple[str, Json]]
    next: str | None
    unreachable: list[str]


async def server_page(
    region: Region, only: str | None, listing: Listing, items: str, limit: int, cursor: str | None
) -> ServerPage:
    """Return a page of a list of all route servers, or of the one named. `listing` gets limit and cursor for one route
    server; its answer has the list in the field `items`, and the cursor of what follows in `next`. Raises Problem if no
    route server answers, and for a cursor that no page has given."""
    name, place = after_pair(cursor)
    servers = named(region, only)
    if name and name not in {server.name for server in servers}:
        raise not_ours()
    parts: list[tuple[str, Json]] = []
    away: dict[str, Exception] = {}
    following, left = None, limit
    for server in servers:
        if server.name < name:
            continue
        if left == 0:
            following = write_cursor(f"{server.name} ")
            break
        query = {"limit": str(left)} | ({"cursor": place} if server.name == name and place else {})
        answer = await asked(server, lambda client, query=query: listing(client, query))  # type: ignore[misc]
        if isinstance(answer, Exception):
            away[server.name] = answer
            continue
        parts.append((server.name, answer))
        left -= len(answer.get(items) or [])
        if answer.get("next"):
            following = write_cursor(f"{server.name} {answer['next']}")
            break
    if away and len(away) == len(servers):
        raise nobody(away)
    return ServerPage(parts, following, list(away))


async def ask(region: Region, only: str | None, question: Question) -> tuple[list[tuple[str, Json]], list[str]]:
    """Ask all route servers, or only the one named, at the same time. Raises Problem if none answers."""
    servers = named(region, only)
    answers = await asyncio.gather(*(asked(server, question) for server in servers))
    given = [(s.name, a) for s, a in zip(servers, answers, strict=True) if isinstance(a, dict)]
    away = {s.name: a for s, a in zip(servers, answers, strict=True) if not isinstance(a, dict)}
    if servers and not given:
        raise nobody(away)
    return given, list(away)


def named(region: Region, only: str | None) -> list[RouteServerSync]:
    """Return all route servers, or only the one named, in the order of their names."""
    return sorted((s for s in region.route_servers.syncs if only in (None, s.name)), key=lambda server: server.name)


async def asked(server: RouteServerSync, question: Question) -> Json | Exception:
    """Return the answer of one route server, or the reason why there is none. Raises Problem if the question is
    wrong."""
    try:
        return await question(server.client)
    except RefusedByRouteServer as refused:
        if refused.status == 400:
            raise Problem(422, str(refused)) from refused
        return refused
    except (Unreachable, OtherGeneration) as error:
        return error


def nobody(away: dict[str, Exception]) -> Problem:
    """Return the problem that no route server has answered."""
    return Problem(502, f"No route server could be asked ({'; '.join(f'{n}: {e}' for n, e in away.items())}).")
