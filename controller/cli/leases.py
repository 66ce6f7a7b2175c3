"""`weft lease`: leases of addresses."""

from enum import StrEnum
from typing import Annotated

import typer

from controller.cli.arguments import Device, Endpoint, OfEndpoint
from controller.cli.cells import at
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.noun import Noun
from controller.cli.output import done, relative, rows, when

app = Noun("lease", "Leases, in pairs: the device's address is even, its VM's the odd one above.")


class Kind(StrEnum):
    """The half of a pair."""

    MD = "md"
    VM = "vm"


COLUMNS = [
    ("ID", at("id")),
    ("ADDRESS", at("address")),
    ("ADDRESS6", at("address6")),
    ("KIND", at("kind")),
    ("DEVICE", at("device")),
    ("ENDPOINT", at("endpoint")),
    ("EXPIRES", when("expires_at")),
    ("CLIENT", lambda row: row.get("mac") or row.get("client_id")),
    ("HOST NAME", at("hostname")),
]
LeaseId = Annotated[str, typer.Argument(metavar="ID", help="As `weft lease list` shows it.")]


@app.verb("list", "weft lease list\nweft lease list --endpoint c1-lan\nweft lease list --device ana")
def list_(
    endpoint: OfEndpoint = None,
    device: Annotated[str | None, typer.Option(help="Only of this device.", autocompletion=names("devices"))] = None,
) -> None:
    """List leases, with their devices and their ends."""
    with Client() as api:
        rows(api.items(path("leases"), endpoint=endpoint, device=device), COLUMNS, "no leases")


@app.verb("add", "weft lease add c1-lan ana\nweft lease add c1-lan ana --kind vm")
def add(
    endpoint: Endpoint,
    device: Device,
    kind: Annotated[Kind, typer.Option(help="For the device itself, or for its VM.")] = Kind.MD,
) -> None:
    """Lease an address by hand."""
    with Client() as api:
        answer = api.post(path("leases"), {"endpoint": endpoint, "device": device, "kind": kind})
        done(answer, f"{answer['address']} is leased to {device}, expires {relative(answer.get('expires_at'))}")


@app.verb("renew", "weft lease renew 17")
def renew(id: LeaseId) -> None:
    """Start the lease time again."""
    with Client() as api:
        answer = api.post(path("leases", id, "renew"))
        done(answer, f"{answer['address']} expires {relative(answer.get('expires_at'))}")


@app.verb("release", "weft lease release 17")
def release(id: LeaseId) -> None:
    """End a lease. The device gets the same pair when it returns."""
    with Client() as api:
        done(api.delete(path("leases", id)), f"lease {id} is released")
