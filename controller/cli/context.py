"""`weft context`: the controllers that a user works with."""

from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli import contexts
from controller.cli.arguments import NewName
from controller.cli.cells import at, state
from controller.cli.contexts import Context, Contexts
from controller.cli.failures import WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import done, rows

app = Noun("context", "Controllers that you work with: URL, token and root, by name.", asks=False)

COLUMNS = [
    ("NAME", at("name")),
    ("URL", at("url")),
    ("TOKEN FILE", at("token_file")),
    ("ROOT FILE", at("root_file")),
    ("PRESENT", state("present")),
]


def _names(context: typer.Context, incomplete: str) -> list[str]:
    try:
        return [name for name in contexts.read().known if name.startswith(incomplete)]
    except WrongUsage:
        return []


Name = Annotated[str, typer.Argument(metavar="NAME", help="A context's name.", autocompletion=_names)]
TokenFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The file with your token there.")]
RootFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The file with the region's root, for an https:// URL of the controller's own.",
    ),
]


@app.verb("list", "weft context list")
def list_() -> None:
    """List contexts. The present one is for all commands without --url and WEFT_URL."""
    found = contexts.read()
    known = [{"name": name, **vars(one), "present": name == found.current} for name, one in found.known.items()]
    rows(known, COLUMNS, "no contexts yet: `weft context add` makes one")


@app.verb(
    "add",
    "weft context add north --at https://192.0.2.1:8443 --token-file ~/north.token --root-file ~/north.pem\n"
    "weft context add lab --at unix:///run/weft-lab/controller.sock",
)
def add(
    name: NewName,
    where: Annotated[
        str, typer.Option("--at", metavar="URL", help="The controller: unix:///PATH or http(s)://HOST:PORT.")
    ],
    token_file: TokenFile = None,
    root_file: RootFile = None,
) -> None:
    """Add a context, or replace it. The first one becomes the present one."""
    found = contexts.read()
    files = {"token_file": token_file, "root_file": root_file}
    made = Context(where, **{key: str(file.absolute()) for key, file in files.items() if file is not None})
    contexts.write(Contexts(found.current or name, {**found.known, name: made}))
    done(_told(name, made), f"context {name} is {made.url}" + ("" if found.current else ", and the present one"))


@app.verb("use", "weft context use north")
def use(name: Name) -> None:
    """Make a context the present one."""
    found = contexts.read()
    chosen = contexts.named(name, found)
    contexts.write(Contexts(name, found.known))
    done(_told(name, chosen), f"context {name}, {chosen.url}, is the present one")


@app.verb("remove", "weft context remove north")
def remove(name: Name) -> None:
    """Forget a context. Its files stay."""
    found = contexts.read()
    gone = contexts.named(name, found)
    left = {other: one for other, one in found.known.items() if other != name}
    contexts.write(Contexts("" if found.current == name else found.current, left))
    done(_told(name, gone), f"context {name} is forgotten")


def _told(name: str, context: Context) -> dict[str, Any]:
    return {"name": name, **vars(context)}
