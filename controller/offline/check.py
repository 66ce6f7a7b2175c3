"""`weft-controller check`: whether a controller could start with these settings, and what it would find."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from controller.core.unavailable import Unavailable
from controller.db.dangling import dangling
from controller.db.engine import Database
from controller.db.schema import head, known, step
from controller.offline.at_work import at_work
from controller.offline.database_file import database_file
from controller.routeservers.client import RefusedByRouteServer, RouteServerClient, Unreachable
from controller.server.certificate_files import CertificateFiles
from controller.server.pages import Pages
from controller.settings import BadSettings, RouteServerSettings, Settings, read_secret, read_token
from controller.trust import x509
from controller.trust.found import read
from controller.wire.checks import Result, failed, ok, warning

SOON = timedelta(days=30)
"""The time before the end of the authority's certificate from which on its renewal is due."""

_SECONDS = 3.0


async def check(settings: Settings, at: datetime) -> list[Result]:
    """Return the results of all checks at a time. Nothing is changed."""
    servers = [_route_server(server, settings) for server in settings.route_servers]
    return [
        *_files(settings),
        *_authority(settings, at),
        *_ui(settings, at),
        *await _database(settings.database_url),
        *await asyncio.gather(*servers),
    ]


def _files(settings: Settings) -> Iterator[Result]:
    """Yield a result for each file of the settings."""
    tokens = {
        "WEFT_ROUTE_SERVER_TOKEN_FILE": settings.route_server_token_file,
        "WEFT_ADMIN_TOKEN_FILE": settings.admin_token_file,
    }
    for name, path in tokens.items():
        if path is not None:
            yield _readable(name, partial(read_token, path, name))
    secrets = {
        "WEFT_SESSION_SECRET_FILE": settings.session_secret_file,
        "WEFT_WEBHOOK_KEY_FILE": settings.webhook_key_file,
    }
    for name, path in secrets.items():
        if path is not None:
            yield _readable(name, partial(read_secret, path, name))


def _readable(name: str, reading: Callable[[], object]) -> Result:
    try:
        reading()
    except BadSettings as error:
        return failed(
            name, str(error).removeprefix(f"{name}: "), "write the file, and give it to the controller's user"
        )
    return ok(name, "can be read")


def _authority(settings: Settings, at: datetime) -> Iterator[Result]:
    subject = "authority"
    if settings.authority is None:
        yield warning(
            subject, "none: cloudlets get no certificates", "weft-controller ca init DIRECTORY, WEFT_AUTHORITY"
        )
        return
    try:
        authority = read(settings.authority_kind, settings.authority)
    except BadSettings as error:
        yield failed(subject, str(error))
        return
    ends = authority.not_after
    said = f"its certificate is good until {ends:%Y-%m-%d}"
    if ends <= at:
        yield failed(subject, f"its certificate ended on {ends:%Y-%m-%d}", "weft-controller ca renew")
    elif ends - at <= SOON:
        yield warning(subject, said, "weft-controller ca renew")
    else:
        yield ok(subject, said)


def _ui(settings: Settings, at: datetime) -> Iterator[Result]:
    """Yield the result for the web UI: its files are built, and its certificate can be served."""
    subject = "web UI"
    if not settings.ui_listen or settings.ui_certificate is None or settings.ui_key is None:
        return
    try:
        Pages.built()
        CertificateFiles(settings.ui_certificate, settings.ui_key)
        found = x509.read_certificate(settings.ui_certificate.read_text(errors="replace"))
    except (BadSettings, x509.Unreadable) as error:
        yield failed(subject, str(error))
        return
    ends = found.not_valid_after_utc
    if ends <= at:
        yield failed(subject, f"its certificate ended on {ends:%Y-%m-%d}", "renew WEFT_UI_CERTIFICATE")
    else:
        yield ok(subject, f"its certificate is good until {ends:%Y-%m-%d}")


async def _database(url: str) -> list[Result]:
    subject, path = "database", database_file(url)
    if path is not None and not path.exists():
        return [ok(subject, f"{path} does not exist: the controller makes it")]
    database = Database(url)
    try:
        await database.check()
        async with database.read() as session:
            at = await session.run_sync(lambda session: step(session.connection()))
            found = [_step(at)]
            if at == head():
                connection = await session.connection()
                rows = await connection.run_sync(lambda connection: sum(1 for _ in dangling(connection)))
                found.append(_rows(rows))
        await database.close()
        if somebody := await at_work(url):
            found.append(ok(subject, f"{somebody} works on it"))
        return found
    except (Unavailable, SQLAlchemyError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        return [failed(subject, reason, "look at WEFT_DATABASE_URL, and at the server")]
    finally:
        await database.close()


def _step(at: str | None) -> Result:
    subject = "database"
    if at is None:
        return ok(subject, "empty: the controller makes its tables")
    if at == head():
        return ok(subject, f"at step {at}, as this release")
    if known(at):
        return ok(subject, f"at step {at}: the controller's start takes it to {head()}")
    return failed(
        subject, f"at step {at}, which this release does not know", "use the later release, or `downgrade` of it"
    )


def _rows(count: int) -> Result:
    if count:
        return failed("database", f"{count} rows refer to rows that do not exist", "weft-controller mend")
    return ok("database", "all rows refer to rows that exist")


async def _route_server(server: RouteServerSettings, settings: Settings) -> Result:
    subject = f"route server {server.name}"
    try:
        token = read_token(settings.route_server_token_file, "WEFT_ROUTE_SERVER_TOKEN_FILE")
        tls = _trusting(settings)
    except BadSettings as error:
        return failed(subject, f"not asked: {error}")
    client = RouteServerClient(server, token, _SECONDS, tls)
    try:
        status = await client.status()
    except Unreachable as error:
        return failed(
            subject, f"{server.control}: {error}", "systemctl status weft-routeserver there; compare the tokens"
        )
    except RefusedByRouteServer as error:
        return failed(subject, f"{server.control} refuses: {error}", "use the same release of both")
    finally:
        await client.close()
    return ok(subject, f"{server.control} answers, version {status.get('version', 'unknown')}")


def _trusting(settings: Settings) -> ssl.SSLContext | None:
    """Return a context that trusts the region's authority; None without one. Revocations are for the serving controller
    to look at. Raises BadSettings."""
    if settings.authority is None:
        return None
    return ssl.create_default_context(cadata=read(settings.authority_kind, settings.authority).authorities)
