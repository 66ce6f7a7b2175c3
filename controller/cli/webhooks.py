"""`weft webhook`: programs that get events as they happen."""

from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli.arguments import NewName
from controller.cli.cells import Row, at, prose, state
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.events import About, Source, Type
from controller.cli.failures import CheckFailed, WrongUsage
from controller.cli.moments import HELP, moment
from controller.cli.noun import Noun
from controller.cli.output import card, done, milliseconds, rows, when
from controller.cli.secret_file import To, secret_file

app = Noun("webhook", "Programs that get events as they happen, signed.")

COLUMNS = [
    ("NAME", at("name")),
    ("URL", at("url")),
    ("TYPE", at("type")),
    ("STATE", state("state")),
    ("BACKLOG", at("backlog")),
    ("WHY", lambda row: prose("paused_because")(row) or prose("error")(row)),
]
DETAILS = [
    *COLUMNS[:3],
    ("ABOUT", at("about")),
    ("SOURCE", at("source")),
    *COLUMNS[3:],
    ("FAILING SINCE", when("failing_since")),
    ("ATTEMPTS", at("attempts")),
    ("NEXT ATTEMPT", when("retry_at")),
    ("AFTER EVENT", at("position")),
    ("MISSED", at("missed")),
    ("ADDED", when("created_at")),
]
DELIVERIES = [
    ("EVENT", at("event")),
    ("TYPE", at("type")),
    ("AT", when("at")),
    ("ATTEMPT", at("attempt")),
    ("STATUS", at("status")),
    ("TOOK", lambda row: milliseconds(row.get("milliseconds"))),
    ("WHY", prose("reason")),
]

Webhook = Annotated[
    str, typer.Argument(metavar="NAME", help="A webhook's name.", autocompletion=names("webhooks"), show_default=False)
]
URL = "Where events go: https://…, without credentials."
SecretFile = Annotated[
    Path | None,
    typer.Option("--secret-file", metavar="FILE", help="The receiver's secret (whsec_…). [default: a new one]"),
]
RootFile = Annotated[
    str | None,
    typer.Option(
        "--root-file", metavar="FILE", help="Authorities of the receiver's certificate, in PEM; '': the machine's."
    ),
]


@app.verb("list", "weft webhook list")
def list_() -> None:
    """List webhooks, with the number of events that wait for each."""
    with Client() as api:
        rows(api.items(path("webhooks")), COLUMNS, "no webhooks")


@app.verb("show", "weft webhook show chat")
def show(name: Webhook) -> None:
    """Show a webhook: how far it is, and why it fails. Its secret is not shown."""
    with Client() as api:
        card(api.get(path("webhooks", name)), DETAILS)


@app.verb(
    "add",
    "weft webhook add chat --at https://hooks.example.net/weft --type 'move-*' --to chat.secret\n"
    "weft webhook add siem --at https://siem.example.net/in --secret-file siem.secret --root-file siem-root.pem",
)
def add(
    name: NewName,
    where: Annotated[str, typer.Option("--at", metavar="URL", help=URL)],
    type: Type = None,
    about: About = None,
    source: Source = None,
    secret_from: SecretFile = None,
    root: RootFile = None,
    to: To = None,
) -> None:
    """Send events to a program from now on. A new secret is shown once, or written to a file."""
    if secret_from is not None and to is not None:
        raise WrongUsage("--secret-file and --to: the controller makes a secret, or takes yours")
    body: Row = {"name": name, "url": where, "type": type, "about": about, "source": source}
    body |= {"root": _text("--root-file", root), "secret": _text("--secret-file", secret_from)}
    with secret_file(to) as write, Client() as api:
        answer = api.post(path("webhooks"), {key: value for key, value in body.items() if value is not None})
        _tell(answer, f"webhook {name}: events go to {where}", to, write)


@app.verb(
    "set",
    "weft webhook set chat --type 'vm-*'\nweft webhook set chat --resume\n"
    "weft webhook set chat --new-secret --overlap 48 --to chat.secret",
)
def set_(
    name: Webhook,
    where: Annotated[str | None, typer.Option("--at", metavar="URL", help=URL)] = None,
    type: Annotated[str | None, typer.Option(help="Only this type or prefix ('move-*'); '' for all.")] = None,
    about: Annotated[str | None, typer.Option(metavar="NAME", help="Only about this thing; '' for all.")] = None,
    source: Annotated[str | None, typer.Option(help="Only of this source; '' for all.")] = None,
    root: RootFile = None,
    pause: Annotated[bool, typer.Option("--pause", help="Send nothing for now; events wait.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the next event, and try it at once.")] = False,
    new_secret: Annotated[bool, typer.Option("--new-secret", help="Have another secret made.")] = False,
    secret_from: SecretFile = None,
    overlap: Annotated[
        int, typer.Option(metavar="HOURS", min=0, max=720, help="Hours in which the secret before signs as well.")
    ] = 24,
    to: To = None,
) -> None:
    """Change a webhook: what it gets and where, pause or resume it, replace its secret."""
    body: dict[str, Any] = {"url": where} if where is not None else {}
    filters = {"type": type, "about": about, "source": source, "root": _text("--root-file", root)}
    body |= {key: value or None for key, value in filters.items() if value is not None}
    if pause and resume:
        raise WrongUsage("--pause and --resume exclude each other")
    if pause or resume:
        body["paused"] = pause
    rekeys = new_secret or secret_from is not None
    if not (body or rekeys):
        raise WrongUsage("nothing to set: see `weft webhook set --help`")
    if new_secret and secret_from is not None:
        raise WrongUsage("--new-secret and --secret-file: the controller makes a secret, or takes yours")
    if to is not None and not new_secret:
        raise WrongUsage("--to is for a new secret: --new-secret")
    with secret_file(to) as write, Client() as api:
        answer = api.patch(path("webhooks", name), body) if body else {}
        if rekeys:
            secret = {"secret": _text("--secret-file", secret_from), "overlap": overlap * 3600}
            answer = api.post(path("webhooks", name, "secret"), secret)
        _tell(answer, f"webhook {name} is changed", to, write)


@app.verb("remove", "weft webhook remove chat")
def remove(name: Webhook) -> None:
    """Send a program no more events, and forget it."""
    with Client() as api:
        done(api.delete(path("webhooks", name)), f"webhook {name} is removed")


@app.verb("test", "weft webhook test chat")
def test(name: Webhook) -> None:
    """Send one event of the type webhook-test now; exit code 1 if it is not taken."""
    with Client() as api:
        answer = api.post(path("webhooks", name, "test"))
    took = milliseconds(answer["milliseconds"])
    done(answer, f"{name} answered {answer['status']} after {took}" if answer["status"] else f"{name} gave no answer")
    if not answer["delivered"]:
        raise CheckFailed(f"{name} did not take it: {answer['reason']}")


@app.verb("deliveries", "weft webhook deliveries chat\nweft webhook deliveries chat --limit 20 --output json")
def deliveries(
    name: Webhook, limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of attempts.")] = 100
) -> None:
    """List the latest attempts to send events, the last one first."""
    with Client() as api:
        rows(api.items(path("webhooks", name, "deliveries"), limit), DELIVERIES, "no attempts")


@app.verb("replay", "weft webhook replay chat --since 2h\nweft webhook replay chat --after 4711")
def replay(
    name: Webhook,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=HELP)] = None,
    after: Annotated[int | None, typer.Option(metavar="ID", min=0, help="The events after this one.")] = None,
) -> None:
    """Send events again from a time or an event on; or leave some out, with a later one."""
    if (since is None) == (after is None):
        raise WrongUsage("one of --since and --after says where to begin")
    body = {"since": moment("--since", since)} if since is not None else {"after": after}
    with Client() as api:
        answer = api.post(path("webhooks", name, "replay"), body)
    done(answer, f"webhook {name} goes on after event {answer['position']}")


def _text(option: str, file: str | Path | None) -> str | None:
    """Return the content of a file; empty for none ('')."""
    if file is None or not str(file):
        return None if file is None else ""
    try:
        return Path(file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not ASCII text"
        raise WrongUsage(f"{option}: cannot read {file}: {reason}") from None


def _tell(answer: Any, said: str, to: Path | None, write: Any) -> None:
    """Print the answer, with a new secret if it has one that no file takes."""
    secret = answer.get("secret")
    if secret is None:
        done(answer, said)
    elif to is None:
        done(answer, f"{said}; this is the only time that its secret is shown:", secret)
    else:
        write(secret)
        del answer["secret"]
        done(answer, f"{said}; its secret is in {to}")
