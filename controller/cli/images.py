"""`weft image`: the images of VMs and containers at cloudlets."""

from typing import Annotated

import typer

from controller.cli.cells import Items, Row, at
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import rows, when

app = Noun("image", "Images of VMs and containers: the cloudlets that have them, and whether they are the same.")


def _same(row: Row) -> str:
    versions = row.get("versions", 1)
    return "same everywhere" if versions == 1 else f"{versions} versions"


COLUMNS = [
    ("IMAGE", at("name")),
    ("DRIVERS", at("drivers")),
    ("CLOUDLETS", at("cloudlets")),
    ("FILES", _same),
]


def _files(row: Row) -> Items:
    files = row.get("files", {})
    return Items(", ".join(f"{name} {digest[:12]}" for name, digest in sorted(files.items())) or "-")


PLACES = [
    ("CLOUDLET", at("cloudlet")),
    ("DRIVER", at("driver")),
    ("FILES", _files),
    ("REPORTED", when("at")),
]


@app.verb("list", "weft image list\nweft image list --output json")
def list_() -> None:
    """List the images that agents report."""
    with Client() as api:
        rows(api.items(path("images")), COLUMNS, "no images")


@app.verb("status", "weft image status debian")
def status(name: Annotated[str, typer.Argument(help="The image.")]) -> None:
    """List the cloudlets that have an image, with the digests of its files there."""
    with Client() as api:
        rows(api.items(path("images", name, "places")), PLACES, "no cloudlet has it")
