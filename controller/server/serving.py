"""Serves the application in one process and one event loop: over TCP, on a unix socket, to agents over TLS, and to
browsers over TLS."""

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from controller.api.access import TRUSTED
from controller.region import Region
from controller.runtime.supervisor import Ended
from controller.server import sockets as listening
from controller.server.app import create_app
from controller.server.certificate_files import CertificateFiles
from controller.server.connections import Connections, room
from controller.server.pages import Pages
from controller.server.ui import Ui
from controller.settings import Settings
from controller.trust.listener import Listener
from controller.wire import logs

GRACE = 1
"""Seconds that requests under way get when the controller stops."""

COLLECT = (10_000, 20, 5)
"""Thresholds of the cycle collector (gc.set_threshold). Requests leave few cycles behind, while streams hold many
objects: with the defaults, collection took a tenth of the controller's time, and 100 ms at a stretch with 1,000
streams. The last number must stay small: with 20, the oldest generation is collected only after four million new
objects. Four minutes of a siege did not create that many, so all its garbage stayed."""

SWITCH = 0.001
"""Seconds after which a thread must let another run (sys.setswitchinterval). While a thread computes, a comparison of
the doctor's for example, the event loop waits that long each time it has waited for a socket or for SQLite's thread;
Python's default is five times as long."""

OPTIONS: dict[str, Any] = {
    "log_config": None,
    "access_log": False,
    "lifespan": "off",
    "timeout_graceful_shutdown": GRACE,
    "ws": "none",  # an upgraded connection would escape the limits
    "proxy_headers": False,  # a peer's address is the socket's, whatever a header says
    "server_header": False,
}


class Server(uvicorn.Server):
    """Leaves signals to its caller, `serve`, which ends streams before it waits for connections."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Trusted:
    """Marks each request of the unix socket as authorised."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[TRUSTED] = True
        await self._app(scope, receive, send)


def limits(settings: Settings) -> Connections:
    """Return the limits on connections: their number in all, their number per peer, and the time for each step."""
    return Connections(min(settings.connections, room()), settings.peer_connections, settings.request_seconds)


def server(app: ASGIApp, connections: Connections, listener: Listener | CertificateFiles | None = None) -> Server:
    """Return a server of an application on one socket, within the limits; with a listener, over TLS."""
    protocol = connections.protocol(listener.context if listener is not None else None)
    return Server(uvicorn.Config(app, http=protocol, **OPTIONS))  # type: ignore[arg-type]


def ui(settings: Settings, app: ASGIApp) -> tuple[Ui, CertificateFiles] | None:
    """Return the application and the TLS of the UI's listener; None without WEFT_UI_LISTEN. Raises BadSettings."""
    if not settings.ui_listen or settings.ui_certificate is None or settings.ui_key is None:
        return None
    return Ui(app, Pages.built()), CertificateFiles(settings.ui_certificate, settings.ui_key)


async def serve(settings: Settings, sockets: list[socket.socket]) -> None:
    """Serve until SIGTERM or SIGINT on the sockets from `sockets.opened`, and close them in the end. Raises Ended and
    BadSettings."""
    sys.setswitchinterval(SWITCH)
    gc.disable()  # until the region is there: searching a growing intent for garbage again and again takes seconds
    app = create_app(settings)
    window = ui(settings, app)
    async with AsyncExitStack() as stack:
        for sock in sockets:
            stack.callback(sock.close)
        await stack.enter_async_context(app.router.lifespan_context(app))
        region: Region = app.state.region
        connections = limits(settings)
        servers = [server(app, connections)]
        if settings.socket:  # with limits of its own, so TCP connections never fill the unix socket's room
            servers.append(server(Trusted(app), limits(settings)))
        if region.identity.listener is not None:
            servers.append(server(app, connections, region.identity.listener))
        if window is not None:
            servers.append(server(window[0], connections, window[1]))

        def stop() -> None:
            region.stop()
            for each in servers:
                each.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        gc.collect()
        gc.freeze()  # keep the present objects out of collections: a full one over them would delay a change by 100 ms
        gc.set_threshold(*COLLECT)
        gc.enable()
        logs.announce("weft-controller", f"listening on {listening.names(sockets)}")

        async def follow() -> None:
            await region.runtime.stopping.wait()
            stop()

        following = [asyncio.create_task(follow())]
        if window is not None:
            following.append(asyncio.create_task(window[1].run()))
        await asyncio.gather(*(s.serve(sockets=[sock]) for s, sock in zip(servers, sockets, strict=True)))
        for task in following:
            task.cancel()
        if region.ended:
            raise Ended(region.ended[0])
