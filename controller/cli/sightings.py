"""`weft sighting`: the places of devices, and where they were last seen."""

from typing import Annotated

import typer

from controller.cli.arguments import OfEndpoint
from controller.cli.cells import at
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.noun import Noun
from controller.cli.output import rows, when

app = Noun("sighting", "Places of devices: sightings, and the endpoint that each counts as being at.")

PLACE = [
    ("AT", at("endpoint")),
    ("SINCE", when("since")),
    ("LAST SEEN AT", at("seen_endpoint")),
    ("THERE SINCE", when("seen_since")),
    ("SEEN", when("at")),
    ("BY", at("how")),
    ("TURNS", at("turns")),
]


@app.verb("list", "weft sighting list\nweft sighting list --endpoint c2-lan\nweft sighting list --unsettled")
def list_(
    endpoint: OfEndpoint = None,
    device: Annotated[str | None, typer.Option(help="Only of this device.", autocompletion=names("devices"))] = None,
    settled: Annotated[
        bool | None,
        typer.Option("--settled/--unsettled", help="Only devices that are, or are not, where they were seen."),
    ] = None,
) -> None:
    """List the place of each device that was ever seen."""
    with Client() as api:
        items = api.items(path("sightings"), endpoint=endpoint, device=device, settled=settled)
        rows(items, [("DEVICE", at("device")), *PLACE], "no sightings")
