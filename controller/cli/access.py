"""`weft access`: what access rules come to at each LAN, and what they have counted."""

from typing import Annotated

import typer

from controller.cli.cells import Row, at, toned
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.noun import Noun
from controller.cli.output import rows

app = Noun("access", "What may pass between members of pools, and what did not.")


def state(row: Row) -> object:
    """In a word."""
    known = row.get("in_kernel")
    return toned("unknown" if known is None else "in force" if known else "not yet")


COLUMNS = [
    ("ENDPOINT", at("endpoint")),
    ("SPECIFICATION", at("specification")),
    ("STATE", state),
    ("PACKETS", at("packets")),
    ("BYTES", at("bytes")),
    ("DROPPED", at("dropped")),
]


@app.verb("list", "weft access list\nweft access list c3-lan\nweft access list c3-lan --output json")
def list_(
    endpoint: Annotated[
        str | None,
        typer.Argument(
            metavar="[ENDPOINT]", help="Only what is on its way to this one.", autocompletion=names("endpoints")
        ),
    ] = None,
) -> None:
    """What is filtered of what comes to each LAN. What is not listed passes."""
    with Client() as api:
        rows(api.items(path("filters"), endpoint=endpoint), COLUMNS, "nothing is filtered")
