"""`weft token`: the API tokens of users and programs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.arguments import NewName
from controller.cli.cells import at, state
from controller.cli.client import Client, path
from controller.cli.failures import WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import done, rows, when
from controller.core.roles import Role

app = Noun("token", "API tokens of users and programs.")

COLUMNS = [
    ("NAME", at("name")),
    ("ROLE", at("role")),
    ("TENANT", at("tenant")),
    ("STATE", state("state")),
    ("EXPIRES", when("expires_at")),
    ("REVOKED", when("revoked_at")),
]
Days = Annotated[int, typer.Option(metavar="DAYS", min=1, max=366, help="Days until it expires.")]
To = Annotated[Path | None, typer.Option(metavar="FILE", help="A new file for the secret, readable only by you.")]


@app.verb("list", "weft token list")
def list_() -> None:
    """List present and past tokens, with the role of each."""
    with Client() as api:
        rows(api.items(path("tokens")), COLUMNS, "no tokens")


@app.verb(
    "add",
    "weft token add dashboard --role viewer\nweft token add ana --role operator --days 7 --to ana.token\n"
    "weft token add acme-portal --role tenant --tenant acme",
)
def add(
    name: NewName,
    role: Annotated[Role, typer.Option(help="Its permissions (docs/operate/access.md).")],
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Its tenant, for the role `tenant`.")] = None,
    days: Days = 30,
    to: To = None,
) -> None:
    """Make a token. Its secret is shown once, or written to a file."""
    body = {"name": name, "role": role, "seconds": days * 86_400} | ({"tenant": tenant} if tenant else {})
    file = None if to is None else _new(to)
    try:
        with Client() as api:
            answer = api.post(path("tokens"), body)
    except BaseException:
        if file is not None and to is not None:
            os.close(file)
            to.unlink()
        raise
    if file is None:
        done(answer, f"token {name}, {role}, for {days} days; this is the only time that it is shown:", answer["token"])
        return
    with os.fdopen(file, "w") as secret:
        secret.write(answer["token"] + "\n")
    del answer["token"]
    done(answer, f"token {name}, {role}, for {days} days, is in {to}: WEFT_TOKEN_FILE={to} uses it")


@app.verb("revoke", "weft token revoke dashboard")
def revoke(name: Annotated[str, typer.Argument(metavar="NAME", help="As `weft token list` shows it.")]) -> None:
    """Revoke a token. It authenticates nobody from now on."""
    with Client() as api:
        done(api.delete(path("tokens", name)), f"token {name} is revoked")


def _new(file: Path) -> int:
    try:
        return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise WrongUsage(f"--to: cannot make {file}: {error.strerror}") from None
