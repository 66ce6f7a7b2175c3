"""Changes of routes at several route servers, as one stream of server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from controller.api import streams
from controller.routeservers.client import Unreachable
from controller.routeservers.sync import RouteServerSync

WAITING = 1000
"""Maximum changes that wait here for the reader. Beyond that, route servers keep further ones, up to their own
limit."""

RETRY = 1.0
"""Seconds between two attempts to watch a route server that is unreachable."""

Changes = asyncio.Queue[dict[str, Any]]


async def watching(
    servers: Sequence[RouteServerSync], query: dict[str, str], stopping: asyncio.Event
) -> AsyncGenerator[bytes, None]:
    """Yield the changes until `stopping` is set. An unreachable route server is `lost`, and watched again when it is
    back."""
    changes: Changes = asyncio.Queue(WAITING)
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(_follow(server, query, changes)) for server in servers]
    stop, change = asyncio.ensure_future(stopping.wait()), asyncio.ensure_future(changes.get())
    try:
        yield streams.OPENING
        while True:
            await asyncio.wait((stop, change), timeout=streams.HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                return
            if not change.done():
                yield streams.COMMENT
                continue
            lines = [_line(change.result())]
            while not changes.empty():
                lines.append(_line(changes.get_nowait()))
            change = asyncio.ensure_future(changes.get())
            yield b"".join(lines)
    finally:
        for task in (*tasks, stop, change):
            task.cancel()


async def _follow(server: RouteServerSync, query: dict[str, str], changes: Changes) -> None:
    away = False
    while True:
        try:
            async for change in server.client.watch(query):
                away = False
                await changes.put({"route_server": server.name, **change})
        except Unreachable as error:
            if not away:
                await changes.put({"route_server": server.name, "kind": "lost", "text": str(error)})
            away = True
        await asyncio.sleep(RETRY)


def _line(change: dict[str, Any]) -> bytes:
    return streams.event(str(change["kind"]), None, streams.compact(change))
