"""`weft profile`: the measured values of past moves."""

from typing import Annotated

import typer

from controller.cli.arguments import OfCloudlet
from controller.cli.cells import Row, at
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.noun import Noun
from controller.cli.output import milliseconds, rows, when
from controller.cli.sizes import mbits, seconds, size

app = Noun("profile", "Figures of past moves, from which predictions start.")


def _off(row: Row) -> str:
    predicted, took = row.get("predicted_seconds"), row.get("seconds")
    return f"{(predicted - took) / took:+.0%}" if predicted is not None and took else "-"


COLUMNS = [
    ("MOVE", at("move")),
    ("VM", at("vm")),
    ("IMAGE", at("image")),
    ("FROM", at("source")),
    ("TO", at("destination")),
    ("TOOK", lambda row: seconds(row.get("seconds"))),
    ("PREDICTED", lambda row: seconds(row.get("predicted_seconds"))),
    ("OFF", _off),
    ("PAUSED", lambda row: milliseconds(row.get("paused_ms"))),
    ("WIRE", lambda row: size(row.get("wire"))),
    ("MEMORY", lambda row: size(row.get("memory_used"))),
    ("MBIT/S", lambda row: mbits(row.get("bandwidth"))),
    ("RTT", lambda row: milliseconds(row.get("rtt_before_ms"))),
    ("DURING", lambda row: milliseconds(row.get("rtt_during_ms"))),
    ("WHEN", when("at")),
]


@app.verb("list", "weft profile list\nweft profile list --image debian --limit 10")
def list_(
    vm: Annotated[str | None, typer.Option(help="Only of this VM.", autocompletion=names("vms"))] = None,
    image: Annotated[str | None, typer.Option(help="Only of VMs with this image.")] = None,
    cloudlet: OfCloudlet = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of moves.")] = 100,
) -> None:
    """List past moves, the latest first; of a cloudlet, those from and to it."""
    with Client() as api:
        rows(api.items(path("profiles"), limit, vm=vm, image=image, cloudlet=cloudlet), COLUMNS, "no moves yet")
