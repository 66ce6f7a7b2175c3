"""`weft access`: the filters that follow from access rules at each LAN, and their counters."""

from typing import Annotated

import typer

from controller.cli.cells import Row, at, toned
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.noun import Noun
from controller.cli.output import rows

app = Noun("access", "Access rules between members of pools, and traffic that they dropped.")


def state(row: Row) -> object:
    """Return the state of a filter as one word."""
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
            metavar="[ENDPOINT]", help="Only filters of traffic to this endpoint.", autocompletion=names("endpoints")
        ),
    ] = None,
) -> None:
    """List the filters of traffic to each LAN. Traffic without a filter passes."""
    with Client() as api:
        rows(api.items(path("filters"), endpoint=endpoint), COLUMNS, "nothing is filtered")
