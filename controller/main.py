"""`weft-controller`: serves the API, copies and restores the database, makes the authority, checks the settings. Each
command imports its own modules, because importing the whole controller takes seconds, which a mistyped command should
not cost."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from controller.wire import logs, tracing
from controller.wire.release import DISTRIBUTION, release

if TYPE_CHECKING:
    from controller.settings import Settings
    from controller.trust.ceremony import CertificateInUse

ENVIRONMENT = """environment:
  WEFT_LOG_FORMAT               form of log lines: text, or json: an object a line (text)
  WEFT_LISTEN                   HOST:PORT of the API over TCP (127.0.0.1:8080)
  WEFT_SOCKET                   path of the API's unix socket: each user who may open it is an admin
  WEFT_DATABASE_URL             sqlite:///FILE or postgresql://USER@HOST/NAME (sqlite+aiosqlite:///weft.db)
  WEFT_REPLICA                  name of this controller among those on one PostgreSQL database; HOST:PID by default
  WEFT_ROUTE_SERVERS            JSON list of {"name", "address", "control"}
  WEFT_ROUTE_SERVER_TOKEN_FILE  file with the route servers' control token
  WEFT_ADMIN_TOKEN_FILE         file with the operators' token; without it the operator API is not served over TCP
  WEFT_ASN                      AS number of the region (65000)
  WEFT_AGENT_TIMEOUT            seconds that a change waits for agents (5)
  WEFT_AUTHORITY                directory of the authority that `weft-controller ca init` made; without it cloudlets get
                                no certificates
  WEFT_AUTHORITY_KIND           name of an authority that is installed beside the controller, to issue them (built-in)
  WEFT_AGENT_LISTEN             HOST:PORT where agents are served over TLS, with the authority's certificates
  WEFT_AGENT_TLS_ONLY           true: agents are served nowhere else (false)
  WEFT_UI_LISTEN                HOST:PORT where the web UI is served to browsers over TLS
  WEFT_UI_CERTIFICATE           file with the certificate chain for it; read again when it changes
  WEFT_UI_KEY                   file with the certificate's key
  WEFT_UI_URL                   https://HOST:PORT by which browsers reach it; needed to sign in at an OIDC issuer
  WEFT_UI_IDLE_SECONDS          how long a session lasts without an act of its user (3600)
  WEFT_UI_SESSION_SECONDS       how long a session lasts at most (43200)
  WEFT_ENROLLED_ONLY            true: route servers accept no BGP session of a cloudlet without an agent (false)
  WEFT_SESSION_SECRET_FILE      file with a secret that BGP sessions are signed by; without it they are not
  WEFT_WEBHOOK_KEY_FILE         file with a secret that the secrets of webhooks are encrypted with; without it there are
                                no webhooks
  WEFT_WEBHOOK_HTTP             true: webhooks may go to other machines over http:// too (false)
  WEFT_CERTIFICATE_SECONDS      how long a cloudlet's certificate is good for (86400)
  WEFT_CONNECTIONS              connections that may be open (10000)
  WEFT_PEER_CONNECTIONS         connections from one address, or one IPv6 /64 (2500)
  WEFT_REQUEST_SECONDS          how long a request may take to arrive (30)
  WEFT_CALLER_RATE              requests a second of one agent or operator, ten times that at once (200); 0: no limit
  WEFT_STRANGER_RATE            requests a second from one address without a token that is good (20); 0: no limit
  WEFT_OIDC                     JSON object: the issuer of users' tokens, and the roles of users
  WEFT_MANUAL                   directory of the manual, served at /manual/ (/usr/share/weft-controller/manual)
  OTEL_EXPORTER_OTLP_ENDPOINT   URL of a collector for traces of changes and moves; the other variables of OpenTelemetry
                                apply as well (no traces)"""


class Failure(Exception):  # noqa: N818 - it says what is
    """Raised when a command cannot do its work; the message is one sentence for the operator."""


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
    finish.add_argument("--force", action="store_true", help="though good certificates are from it: a key was stolen")
    for verb in (init, renew, rotate, switch, finish):
        verb.add_argument("directory", type=Path, metavar="DIRECTORY")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weft-controller",
        description="The VPN controller of a region of cloudlets: REST API, intent, desired states.",
        epilog=ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"weft-controller {release()}")
    parser.add_argument(
        "--env-file",
        type=Path,
        metavar="FILE",
        help="settings that are not in the environment: /etc/weft/controller.env",
    )
    parser.add_argument("--verbose", action="store_true", help="log what is done, not only what is wrong")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", help="serves if none is given")
    copying = commands.add_parser(
        "copy",
        help="copy the whole database into an empty one",
        description="Copies the database that WEFT_DATABASE_URL names, as it is at this moment, into an empty one: a "
        "backup (--to sqlite:///FILE), the way back, or the move to PostgreSQL. Controllers may work on it meanwhile.",
    )
    copying.add_argument("--to", required=True, metavar="URL", help="sqlite:///FILE or postgresql://USER@HOST/NAME")
    mending = commands.add_parser(
        "mend",
        help="name rows that refer to rows that do not exist",
        description="Looks for rows of the database that WEFT_DATABASE_URL names which refer to rows that somebody has "
        "deleted by hand, and names them. Stop all controllers before --delete.",
    )
    mending.add_argument("--delete", type=Path, metavar="FILE", help="take them out; they are written to FILE before")
    _add_offline(commands)
    _add_authority(commands)
    return parser


def _add_offline(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    backup = commands.add_parser("backup", help="copy the database into a new file, named by the time")
    backup.add_argument("folder", type=Path, metavar="DIRECTORY", help="where the files are")
    backup.add_argument("--keep", type=_count, metavar="N", help="delete all but the latest N of these files")
    restore = commands.add_parser("restore", help="fill the database from a backup, also of an earlier release")
    restore.add_argument("file", type=Path, metavar="FILE", help="what `backup` has written")
    restore.add_argument("--replace", action="store_true", help="put a database of SQLite aside before")
    down = commands.add_parser("downgrade", help="take the database back to the step of an earlier release")
    down.add_argument("step", metavar="STEP", help="the step that the earlier release's `weft-controller check` names")
    down.add_argument("--dry-run", action="store_true", help="only say what would be reverted, and lost")
    check = commands.add_parser("check", help="whether a controller can start with these settings; exit code 1: not so")
    check.add_argument("--output", choices=("table", "json"), default="table", help="for users or for programs [table]")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _authority(arguments: argparse.Namespace) -> str:
    from controller.core.clock import now
    from controller.trust import ceremony

    at, directory = now(), arguments.directory
    try:
        match arguments.verb:
            case "init":
                return ceremony.init(directory, arguments.name, at)
            case "rotate" if arguments.new_root:
                return ceremony.prepare(directory, at)
            case "rotate":
                return ceremony.rotate(directory, arguments.root_key, at)
            case "switch":
                return ceremony.switch(directory)
            case "finish":
                former = ceremony.former(directory)
                return ceremony.finish(directory, [] if arguments.force else _in_use(arguments, former))
        return ceremony.renew(directory, arguments.root_key, at)
    except ceremony.NotMade as error:
        raise Failure(str(error)) from error


def _settings(arguments: argparse.Namespace) -> "Settings":
    from controller.settings import BadSettings, read_settings

    try:
        return read_settings(arguments.env_file)
    except BadSettings as error:
        raise Failure(str(error)) from error


def _url(arguments: argparse.Namespace) -> str:
    """Return the database URL of the settings."""
    return _settings(arguments).database_url


def _backup(arguments: argparse.Namespace) -> str:
    url = _url(arguments)
    with _database():
        from controller.core.clock import now
        from controller.db.copy import NotCopied
        from controller.offline.backup import backup

        try:
            return asyncio.run(backup(url, arguments.folder, arguments.keep, now()))
        except NotCopied as error:
            raise Failure(str(error)) from error


def _restore(arguments: argparse.Namespace) -> str:
    url = _url(arguments)
    with _database():
        from controller.core.clock import now
        from controller.db.copy import NotCopied
        from controller.offline.restore import restore

        try:
            return asyncio.run(restore(url, arguments.file, arguments.replace, now()))
        except NotCopied as error:
            raise Failure(str(error)) from error


def _downgrade(arguments: argparse.Namespace) -> str:
    url = _url(arguments)
    with _database():
        from controller.offline.downgrade import NotDowngraded, down

        try:
            return asyncio.run(down(url, arguments.step, arguments.dry_run))
        except NotDowngraded as error:
            raise Failure(str(error)) from error


def _check(arguments: argparse.Namespace) -> int:
    from controller.core.clock import now
    from controller.offline.check import check
    from controller.wire.checks import Outcome, text

    settings = _settings(arguments)
    found = asyncio.run(check(settings, now()))
    print(text(found, arguments.output))
    return int(any(one.outcome is Outcome.FAILED for one in found))


def _in_use(arguments: argparse.Namespace, issuer: str) -> "Sequence[CertificateInUse]":
    url = _url(arguments)
    with _database():
        from controller.db.rotation import in_use

        return asyncio.run(in_use(url, issuer))


def _copy(arguments: argparse.Namespace) -> str:
    url = _url(arguments)
    with _database():
        from controller.db.copy import NotCopied, copy_database

        try:
            return asyncio.run(copy_database(url, arguments.to))
        except NotCopied as error:
            raise Failure(str(error)) from error


def _serve(arguments: argparse.Namespace) -> None:
    from controller.server import sockets
    from controller.settings import BadSettings

    settings = _settings(arguments)
    logs.use(settings.log_format, replica=settings.replica)
    try:
        opened = sockets.opened(settings)
    except BadSettings as error:
        raise Failure(str(error)) from error
    try:
        with _database(), tracing.traced("weft-controller", {"weft.replica": settings.replica}):
            from controller.runtime.supervisor import Ended
            from controller.server.serving import serve

            try:
                asyncio.run(serve(settings, opened))
            except Ended as error:
                raise Failure(f"{error}; the log says where") from error
    except (BadSettings, tracing.NoTraces) as error:
        raise Failure(str(error)) from error
    finally:
        if settings.socket:
            settings.socket.unlink(missing_ok=True)


def _mend(arguments: argparse.Namespace) -> str:
    url = _url(arguments)
    with _database():
        from controller.db.dangling import NotMended, mend

        try:
            return asyncio.run(mend(url, arguments.delete))
        except NotMended as error:
            raise Failure(str(error)) from error


@contextmanager
def _database() -> Iterator[None]:
    """Raise errors of the database as Failure, with the name of the setting that names the database."""
    from sqlalchemy.exc import SQLAlchemyError

    from controller.core.unavailable import Unavailable
    from controller.db.schema import UnknownRevision

    try:
        yield
    except (UnknownRevision, Unavailable) as error:
        raise Failure(f"WEFT_DATABASE_URL: {error}") from error
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise Failure(f"WEFT_DATABASE_URL: PostgreSQL needs asyncpg: pip install '{DISTRIBUTION}[postgres]'") from error
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise Failure(f"WEFT_DATABASE_URL: {reason}") from error


_COMMANDS = {
    "backup": _backup,
    "ca": _authority,
    "copy": _copy,
    "downgrade": _downgrade,
    "mend": _mend,
    "restore": _restore,
}


def main() -> None:
    """Run `weft-controller`."""
    arguments = parser().parse_args()
    logs.begin(logging.INFO if arguments.verbose else logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        if arguments.command is None:
            _serve(arguments)
        elif arguments.command == "check":
            sys.exit(_check(arguments))
        else:
            print(f"weft-controller: {_COMMANDS[arguments.command](arguments)}")
    except Failure as error:
        logs.complain("weft-controller", str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
