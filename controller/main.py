"""`weft-controller`: serves the API on TCP and, if asked to, on a unix socket, in one process and one event loop."""

import argparse
import asyncio
import gc
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Receive, Scope, Send

from controller.api.access import TRUSTED
from controller.app import create_app, release
from controller.db.schema import UnknownRevision
from controller.region import Region
from controller.settings import BadSettings, Settings, read_settings

GRACE = 1
"""Seconds that requests under way are given when the controller stops."""

ENVIRONMENT = """environment:
  WEFT_LISTEN                   HOST:PORT of the API over TCP (127.0.0.1:8080)
  WEFT_SOCKET                   path of the API's unix socket: whoever may open it is an operator
  WEFT_DATABASE_URL             SQLAlchemy URL (sqlite+aiosqlite:///weft.db)
  WEFT_ROUTE_SERVERS            JSON list of {"name", "address", "control"}
  WEFT_ROUTE_SERVER_TOKEN_FILE  file with the route servers' control token
  WEFT_ADMIN_TOKEN_FILE         file with the operators' token; without it the operator API is not served over TCP
  WEFT_ASN                      AS number of the region (65000)
  WEFT_AGENT_TIMEOUT            seconds that a change waits for agents (5)"""


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


async def serve(settings: Settings, sockets: list[socket.socket]) -> None:
    """Serves until SIGTERM or SIGINT. The first socket is TCP; a second is the unix socket."""
    app = create_app(settings)
    options = {"log_config": None, "access_log": False, "lifespan": "off", "timeout_graceful_shutdown": GRACE}
    servers = [Server(uvicorn.Config(asgi, **options)) for asgi in (app, Trusted(app))[: len(sockets)]]  # type: ignore[arg-type]
    async with app.router.lifespan_context(app):
        region: Region = app.state.region

        def stop() -> None:
            region.stopping.set()
            for server in servers:
                server.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        gc.collect()
        gc.freeze()  # what is there now stays: a full collection over all of it would hold up a change for 100 ms
        print(f"weft-controller: listening on {_name(sockets)}", flush=True)
        await asyncio.gather(*(s.serve(sockets=[sock]) for s, sock in zip(servers, sockets, strict=True)))


def _name(sockets: list[socket.socket]) -> str:
    names = [s.getsockname() for s in sockets]
    return " and ".join(name if isinstance(name, str) else f"{name[0]}:{name[1]}" for name in names)


def open_sockets(settings: Settings) -> list[socket.socket]:
    """Binds what is to be served; raises BadSettings."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    tcp = socket.socket(family, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((settings.host, settings.port))
        tcp.listen(1024)
    except OSError as error:
        tcp.close()
        raise BadSettings(f"WEFT_LISTEN: cannot listen on {settings.listen}: {error.strerror}") from None
    return [tcp, _unix(settings.socket)] if settings.socket else [tcp]


def _unix(path: Path) -> socket.socket:
    """A socket that only its owner may open. One left behind by a controller that is gone is replaced."""
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(ConnectionRefusedError):
                probe.connect(str(path))
                raise BadSettings(f"WEFT_SOCKET: another controller serves {path}")
            path.unlink()
        before = os.umask(0o177)
        try:
            unix.bind(str(path))
        finally:
            os.umask(before)
        unix.listen(1024)
    except OSError as error:
        unix.close()
        raise BadSettings(f"WEFT_SOCKET: cannot listen on {path}: {error.strerror or error}") from None
    return unix


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="weft-controller",
        description="The VPN controller of a region of cloudlets: REST API, intent, desired states.",
        epilog=ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"weft-controller {release()}")
    parser.add_argument("--verbose", action="store_true", help="log what is done, not only what is wrong")
    arguments = parser.parse_args()
    level = logging.INFO if arguments.verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = read_settings()
        sockets = open_sockets(settings)
        try:
            asyncio.run(serve(settings, sockets))
        finally:
            if settings.socket:
                settings.socket.unlink(missing_ok=True)
    except BadSettings as error:
        sys.exit(f"weft-controller: {error}")
    except UnknownRevision as error:
        sys.exit(f"weft-controller: WEFT_DATABASE_URL: {error}")
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        sys.exit(f"weft-controller: WEFT_DATABASE_URL: {reason}")


if __name__ == "__main__":
    main()
