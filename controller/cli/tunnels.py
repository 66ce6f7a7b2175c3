"""`weft tunnel`: encrypted tunnels between cloudlets, and missing ones."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from controller.cli.arguments import Cloudlet
from controller.cli.cells import Row, StateWord, Tone, at, prose, toned
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.noun import Noun
from controller.cli.output import card, rows, when
from controller.cli.sizes import size

app = Noun("tunnel", "Encrypted tunnels between cloudlets, as each end reported them last.")


class Condition(StrEnum):
    """The condition of a tunnel."""

    UP = "up"
    CONNECTING = "connecting"
    DOWN = "down"


def amount(key: str) -> Callable[[Row], object]:
    """Return a function that gets the octets below `key` in readable form."""
    get = at(key)
    return lambda row: size(get(row))


def state(row: Row) -> object:
    """Return the state as one word; in capitals if the tunnel has been missing for too long."""
    text = str(row.get("state"))
    return StateWord(text.upper(), Tone.ALARM) if row.get("alarm") else toned(text)


def dropped(row: Row) -> str:
    """Return the dropped packets in the clear: those that were to leave, and those that came in."""
    return f"{row.get('dropped_out')} out, {row.get('dropped_in')} in"


COLUMNS = [
    ("CLOUDLET", at("cloudlet")),
    ("PEER", at("peer")),
    ("STATE", state),
    ("SINCE", when("since")),
    ("ESP", at("esp")),
    ("NEW KEYS", when("rekey_at")),
    ("IN", amount("bytes_in")),
    ("OUT", amount("bytes_out")),
    ("DROPPED", dropped),
    ("WHY", prose("why")),
]
CARD = [
    ("CLOUDLET", at("cloudlet")),
    ("PEER", at("peer")),
    ("VTEPS", lambda row: f"{row.get('local')} to {row.get('remote')}"),
    ("NEEDED", at("needed")),
    ("STATE", state),
    ("SINCE", when("since")),
    ("MISSING SINCE", when("alarm")),
    ("WHY", prose("why")),
    ("IKE", at("ike")),
    ("ESP", at("esp")),
    ("KEYS MADE", when("keyed_at")),
    ("NEW KEYS", when("rekey_at")),
    ("IN", lambda row: f"{size(row.get('bytes_in'))}, {row.get('packets_in')} packets"),
    ("OUT", lambda row: f"{size(row.get('bytes_out'))}, {row.get('packets_out')} packets"),
    ("DROPPED IN THE CLEAR", dropped),
    ("SAID", when("at")),
]


@app.verb("list", "weft tunnel list\nweft tunnel list c1\nweft tunnel list --alarm\nweft tunnel list --state down")
def list_(
    cloudlet: Annotated[
        str | None,
        typer.Argument(metavar="[CLOUDLET]", help="Only reports of this one.", autocompletion=names("cloudlets")),
    ] = None,
    state: Annotated[Condition | None, typer.Option(help="Only tunnels in this state.")] = None,
    alarm: Annotated[bool, typer.Option("--alarm", help="Only tunnels missing for too long.")] = False,
) -> None:
    """List all tunnels. Each end's report has its own line."""
    with Client() as api:
        found = api.items(path("tunnels"), cloudlet=cloudlet, state=state and state.value, alarm=alarm or None)
        rows(found, COLUMNS, "no tunnels")


@app.verb("show", "weft tunnel show c1 c2")
def show(cloudlet: Cloudlet, peer: Cloudlet) -> None:
    """Show the tunnel between two cloudlets, as the first one reports it."""
    with Client() as api:
        card(api.get(path("tunnels", cloudlet, peer)), CARD)
