"""`weft token`: the API tokens of users and programs."""

from typing import Annotated

import typer

from controller.cli.arguments import NewName
from controller.cli.cells import at, state
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import done, rows, when
from controller.cli.secret_file import To, secret_file, told
from controller.core.roles import Role

app = Noun("token", "API tokens of users and programs.")

COLUMNS = [
    ("NAME", at("name")),
    ("ROLE", at("role")),
    ("TENANT", at("tenant")),
    ("STATE", state("state")),
    ("EXPIRES", when("expires_at")),
    ("REVOKED", when("revoked_at")),
    ("USED", when("used_at")),
]
Days = Annotated[int, typer.Option(metavar="DAYS", min=1, max=366, help="Days until it expires.")]


@app.verb("list", "weft token list")
def list_() -> None:
    """List present and past tokens, with the role and about the last use of each."""
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
    with secret_file(to) as write, Client() as api:
        answer = api.post(path("tokens"), body)
        remedy = f"`weft token revoke {name}`, then `weft token add` with another name"
        write(told(answer, "token", remedy))
    if to is None:
        done(answer, f"token {name}, {role}, for {days} days; this is the only time that it is shown:", answer["token"])
        return
    del answer["token"]
    done(answer, f"token {name}, {role}, for {days} days, is in {to}: WEFT_TOKEN_FILE={to} uses it")


@app.verb("revoke", "weft token revoke dashboard")
def revoke(name: Annotated[str, typer.Argument(metavar="NAME", help="As `weft token list` shows it.")]) -> None:
    """Revoke a token. It authenticates nobody from now on."""
    with Client() as api:
        done(api.delete(path("tokens", name)), f"token {name} is revoked")
