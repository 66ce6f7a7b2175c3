"""`weft reservation`: pairs reserved for devices that are expected."""

from typing import Annotated

import typer

from controller.cli.arguments import Device, Endpoint, OfEndpoint
from controller.cli.cells import Prose, Row, at
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import done, relative, rows, when

app = Noun("reservation", "Pairs of addresses that are kept for devices.")


def _effect(row: Row) -> object:
    """Return a note about a policy's reservation that has no effect yet."""
    return None if row.get("in_force", True) else Prose(f"has {row['has']} until its leases end")


COLUMNS = [
    ("ID", at("id")),
    ("ENDPOINT", at("endpoint")),
    ("DEVICE", at("device")),
    ("MD", at("md")),
    ("VM", at("vm")),
    ("MD6", at("md6")),
    ("VM6", at("vm6")),
    ("BY", at("by")),
    ("UNTIL", when("held_until")),
    ("EFFECT", _effect),
]
Seconds = Annotated[int, typer.Option(metavar="SECONDS", min=1, max=30 * 86400, help="Duration from now on.")]


@app.verb("list", "weft reservation list\nweft reservation list --endpoint c2-lan")
def list_(endpoint: OfEndpoint = None) -> None:
    """List reserved pairs, with their devices and their ends. The policy's permanent reservations follow."""
    with Client() as api:
        kept = [{**row, "by": "operator"} for row in api.items(path("reservations"), endpoint=endpoint)]
        kept += [{**row, "by": "policy"} for row in api.items(path("reservations", "policy"), endpoint=endpoint)]
        rows(kept, COLUMNS, "no reservations")


@app.verb("add", "weft reservation add c2-lan ana --seconds 600")
def add(endpoint: Endpoint, device: Device, seconds: Seconds = 900) -> None:
    """Reserve a device's pair at a LAN before the device arrives. Repeating the command moves the end."""
    with Client() as api:
        answer = api.post(path("reservations"), {"endpoint": endpoint, "device": device, "seconds": seconds})
        until = relative(answer.get("held_until"))
        done(answer, f"{answer['md']} and {answer['vm']} are kept for {device}; that ends {until}")


@app.verb("remove", "weft reservation remove 17")
def remove(id: Annotated[str, typer.Argument(metavar="ID", help="As `weft reservation list` shows it.")]) -> None:
    """End a reservation. Leases on the pair continue."""
    with Client() as api:
        done(api.delete(path("reservations", id)), f"reservation {id} is given up")
