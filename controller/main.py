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
from typing import Any

import uvicorn
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Receive, Scope, Send

from controller.api.access import TRUSTED
from controller.app import create_app
from controller.connections import Connections, room
from controller.db.base import now
from controller.db.copy import NotCopied, copy
from controller.db.engine import Database
from controller.db.schema import UnknownRevision
from controller.db.trouble import Unavailable
from controller.region import Region
from controller.release import release
from controller.settings import BadSettings, Settings, read_settings
from controller.trust import ceremony
from controller.trust.ceremony import NotMade
from controller.trust.listener import Listener
from controller.wire import logs

GRACE = 1
"""Seconds that requests under way are given when the controller stops."""

OPTIONS: dict[str, Any] = {
    "log_config": None,
    "access_log": False,
    "lifespan": "off",
    "timeout_graceful_shutdown": GRACE,
    "ws": "none",  # an upgrade would leave the limits behind
    "proxy_headers": False,  # a peer is who it is, whatever it says of itself
    "server_header": False,
}

ENVIRONMENT = """environment:
  WEFT_LISTEN                   HOST:PORT of the API over TCP (127.0.0.1:8080)
  WEFT_SOCKET                   path of the API's unix socket: whoever may open it is an operator
  WEFT_DATABASE_URL             sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME (sqlite:///weft.db)
  WEFT_REPLICA                  name of this controller among those on one PostgreSQL database (host:pid)
  WEFT_ROUTE_SERVERS            JSON list of {"name", "address", "control"}
  WEFT_ROUTE_SERVER_TOKEN_FILE  file with the route servers' control token
  WEFT_ADMIN_TOKEN_FILE         file with the operators' token; without it the operator API is not served over TCP
  WEFT_ASN                      AS number of the region (65000)
  WEFT_AGENT_TIMEOUT            seconds that a change waits for agents (5)
  WEFT_AUTHORITY                directory of the authority that `weft-controller ca init` made; without it cloudlets get
                                no certificates
  WEFT_AGENT_LISTEN             HOST:PORT where agents are served over TLS, with the authority's certificates
  WEFT_AGENT_TLS_ONLY           true: agents are served nowhere else (false)
  WEFT_SESSION_SECRET_FILE      file with a secret that BGP sessions are signed by; without it they are not
  WEFT_CERTIFICATE_SECONDS      how long a cloudlet's certificate is good for (86400)
  WEFT_CONNECTIONS              connections that may be open (10000)
  WEFT_PEER_CONNECTIONS         connections from one address, or one IPv6 /64 (2500)
  WEFT_REQUEST_SECONDS          how long a request may take to arrive (30)
  WEFT_CALLER_RATE              requests a second of one agent or operator, ten times that at once (200; 0: no limit)
  WEFT_STRANGER_RATE            requests a second from one address without a token that is good (20; 0: no limit)"""


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


def server(app: ASGIApp, settings: Settings, listener: Listener | None = None) -> Server:
    """What serves an application on one socket, within the limits; with a listener, over TLS."""
    total = min(settings.connections, room())
    connections = Connections(total, settings.peer_connections, settings.request_seconds)
    tls = {"ssl_context_factory": lambda *_: listener.context} if listener is not None else {}
    return Server(uvicorn.Config(app, http=connections.protocol, **OPTIONS, **tls))  # type: ignore[arg-type]


async def serve(settings: Settings, sockets: list[socket.socket]) -> None:
    """Serves until SIGTERM or SIGINT, on the sockets of `open_sockets`."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        region: Region = app.state.region
        servers = [server(app, settings)]
        if settings.socket:
            servers.append(server(Trusted(app), settings))
        if region.listener is not None:
            servers.append(server(app, settings, region.listener))

        def stop() -> None:
            region.stopping.set()
            for each in servers:
                each.should_exit = True

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
    """Binds what is to be served: over TCP, on the unix socket, and over TLS. Raises BadSettings."""
    sockets = [_tcp("WEFT_LISTEN", settings.listen)]
    if settings.socket:
        sockets.append(_unix(settings.socket))
    if settings.agent_listen:
        sockets.append(_tcp("WEFT_AGENT_LISTEN", settings.agent_listen))
    return sockets


def _tcp(name: str, listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tcp = socket.socket(family, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((host.strip("[]"), int(port)))
        tcp.listen(1024)
    except OSError as error:
        tcp.close()
        raise BadSettings(f"{name}: cannot listen on {listen}: {error.strerror}") from None
    return tcp


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


async def copy_database(settings: Settings, to: str) -> str:
    """Copies the database, and says what was copied. Raises NotCopied."""
    source, target = Database(settings.database_url), Database(to)
    try:
        rows = await copy(source, target)
    finally:
        await source.close()
        await target.close()
    return f"{sum(rows.values())} rows of {len(rows)} tables copied to {make_url(to).render_as_string()}"


def _add_authority(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verbs = commands.add_parser(
        "ca",
        help="make the authority that certifies cloudlets",
        description="The authority that WEFT_AUTHORITY names. Its root key is needed here only, and kept elsewhere.",
    ).add_subparsers(metavar="VERB", dest="verb", required=True)
    init = verbs.add_parser("init", help="make a root and an intermediate")
    init.add_argument("--name", default="weft", help="what the certificates call it (weft)")
    renew = verbs.add_parser("renew", help="give the intermediate a new certificate, before its year is over")
    renew.add_argument("--root-key", type=Path, required=True, metavar="FILE", help="root-key.pem of `init`")
    rotate = verbs.add_parser("rotate", help="begin with a new key for the intermediate, or with a new root")
    which = rotate.add_mutually_exclusive_group(required=True)
    which.add_argument("--root-key", type=Path, metavar="FILE", help="a new intermediate, in force at once")
    which.add_argument("--new-root", action="store_true", help="a new root, trusted at once and in force with `switch`")
    switch = verbs.add_parser("switch", help="the new root is in force")
    finish = verbs.add_parser("finish", help="what was in force before a rotation is not trusted any more")
    for verb in (init, renew, rotate, switch, finish):
        verb.add_argument("directory", type=Path, metavar="DIRECTORY")


def _make_authority(arguments: argparse.Namespace) -> str:
    if arguments.verb == "init":
        return ceremony.init(arguments.directory, arguments.name, now())
    if arguments.verb == "rotate" and arguments.new_root:
        return ceremony.prepare(arguments.directory, now())
    if arguments.verb == "rotate":
        return ceremony.rotate(arguments.directory, arguments.root_key, now())
    if arguments.verb in ("switch", "finish"):
        return (ceremony.switch if arguments.verb == "switch" else ceremony.finish)(arguments.directory)
    return ceremony.renew(arguments.directory, arguments.root_key, now())


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
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", help="serves if none is given")
    copying = commands.add_parser(
        "copy",
        help="copy the whole database into an empty one",
        description="Copies the database that WEFT_DATABASE_URL names, as it is at this moment, into an empty one: a "
        "backup (--to sqlite:///FILE), the way back, or the move to PostgreSQL. Controllers may work on it meanwhile.",
    )
    copying.add_argument("--to", required=True, metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/NAME")
    _add_authority(commands)
    arguments = parser.parse_args()
    logs.begin(logging.INFO if arguments.verbose else logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        if arguments.command == "ca":
            print(f"weft-controller: {_make_authority(arguments)}")
            return
        settings = read_settings()
        if arguments.command == "copy":
            print(f"weft-controller: {asyncio.run(copy_database(settings, arguments.to))}")
            return
        sockets = open_sockets(settings)
        try:
            asyncio.run(serve(settings, sockets))
        finally:
            if settings.socket:
                settings.socket.unlink(missing_ok=True)
    except (BadSettings, NotCopied, NotMade) as error:
        sys.exit(f"weft-controller: {error}")
    except (UnknownRevision, Unavailable) as error:
        sys.exit(f"weft-controller: WEFT_DATABASE_URL: {error}")
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        sys.exit("weft-controller: WEFT_DATABASE_URL: PostgreSQL needs asyncpg: pip install 'weft[postgres]'")
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        sys.exit(f"weft-controller: WEFT_DATABASE_URL: {reason}")


if __name__ == "__main__":
    main()
