"""Serves the application in one process and one event loop: over TCP, on a unix socket, and to agents over TLS."""

import asyncio
import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from controller.api.access import TRUSTED
from controller.region import Region
from controller.server import sockets as listening
from controller.server.app import create_app
from controller.server.connections import Connections, room
from controller.settings import Settings
from controller.trust.listener import Listener

GRACE = 1
"""Seconds that requests under way are given when the controller stops."""

COLLECT = (10_000, 20, 5)
"""When cycles are looked for (gc.set_threshold). Requests leave few behind, while streams hold many objects: by the
defaults a tenth of the controller's time went into it, with 1,000 streams 100 ms in a row. But what is old has to be
looked at as well: with 20 for the last number not before there are four million objects more, which four minutes of a
siege did not make, so that all that it left behind stayed."""

OPTIONS: dict[str, Any] = {
    "log_config": None,
    "access_log": False,
    "lifespan": "off",
    "timeout_graceful_shutdown": GRACE,
    "ws": "none",  # an upgrade would leave the limits behind
    "proxy_headers": False,  # a peer is who it is, whatever it says of itself
    "server_header": False,
}


class Ended(Exception):  # noqa: N818 - it says what is
    """Work in the background has failed, and the controller has ended with it."""


class Server(uvicorn.Server):
    """Leaves signals to whoever runs it; streams are told to end before connections are waited for."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Trusted:
    """The application as it is served on the unix socket."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[TRUSTED] = True
        await self._app(scope, receive, send)


def limits(settings: Settings) -> Connections:
    """How many connections there may be, and for how long what may take."""
    return Connections(min(settings.connections, room()), settings.peer_connections, settings.request_seconds)


def server(app: ASGIApp, connections: Connections, listener: Listener | None = None) -> Server:
    """What serves an application on one socket, within the limits; with a listener, over TLS."""
    protocol = connections.protocol(listener.context if listener is not None else None)
    return Server(uvicorn.Config(app, http=protocol, **OPTIONS))  # type: ignore[arg-type]


async def serve(settings: Settings, sockets: list[socket.socket]) -> None:
    """Serves until SIGTERM or SIGINT, on the sockets of `sockets.opened`."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        region: Region = app.state.region
        connections = limits(settings)
        servers = [server(app, connections)]
        if settings.socket:  # for whom there is room, however many strangers there are
            servers.append(server(Trusted(app), limits(settings)))
        if region.identity.listener is not None:
            servers.append(server(app, connections, region.identity.listener))

        def stop() -> None:
            region.stop()
            for each in servers:
                each.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        gc.collect()
        gc.freeze()  # what is there now stays: a full collection over all of it would hold up a change for 100 ms
        gc.set_threshold(*COLLECT)
        print(f"weft-controller: listening on {listening.names(sockets)}", flush=True)

        async def follow() -> None:
            await region.runtime.stopping.wait()
            stop()

        following = asyncio.create_task(follow())
        await asyncio.gather(*(s.serve(sockets=[sock]) for s, sock in zip(servers, sockets, strict=True)))
        following.cancel()
        if region.ended:
            raise Ended(region.ended[0])
