"""`weft vcp`: pools and their members."""

from typing import Annotated

import typer

from controller.cli.arguments import ConfirmWithin, DryRun, Endpoint, NewName, Vcp
from controller.cli.cells import at, prose
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows
from controller.wire.flavours import Flavour

app = Noun("vcp", "Virtual Cloud Pools: sets of LANs that are joined.")

COLUMNS = [
    ("NAME", at("name")),
    ("FLAVOUR", at("flavour")),
    ("MEMBERS", at("members")),
    ("BY POLICY", at("managed_by_policy")),
    ("DESCRIPTION", prose("description")),
]


@app.verb("list", "weft vcp list")
def list_() -> None:
    """List the pools and their members."""
    with Client() as api:
        rows(api.items(path("vcps")), COLUMNS, "no VCPs: `weft vcp add` or `weft policy apply` makes them")


@app.verb("show", "weft vcp show blue")
def show(name: Vcp) -> None:
    """Show one pool."""
    with Client() as api:
        card(api.get(path("vcps", name)), COLUMNS)


@app.verb("add", "weft vcp add blue\nweft vcp add green --flavour evpn --description 'the fair'")
def add(
    name: NewName,
    flavour: Annotated[Flavour, typer.Option(help="The kind of the members' PEs.")] = Flavour.VPLS,
    description: Annotated[str, typer.Option(help="A text for users.")] = "",
) -> None:
    """Make an empty pool."""
    with Client() as api:
        answer = api.post(path("vcps"), {"name": name, "flavour": flavour, "description": description})
        done(answer, f"{name} is an empty {flavour} pool")


@app.verb("remove", "weft vcp remove blue")
def remove(name: Vcp, dry_run: DryRun = False) -> None:
    """Remove a pool without members."""
    with Client() as api:
        print_change(f"{name} is removed", api.delete(path("vcps", name), dry_run=dry_run or None))


@app.verb(
    "join",
    "weft vcp join blue c5-lan\nweft vcp join blue c5-lan --dry-run\nweft vcp join blue c5-lan --confirm-within 60",
)
def join(vcp: Vcp, endpoint: Endpoint, dry_run: DryRun = False, confirm_within: ConfirmWithin = None) -> None:
    """Put an endpoint into a pool. Returns when routes and kernels agree, with the time that this took."""
    where, what = path("vcps", vcp, "members"), {"endpoint": endpoint}
    with Client() as api:
        change = api.post(where, what, dry_run=dry_run or None, confirm_within=confirm_within)
        print_change(f"{endpoint} joins {vcp}", change)


@app.verb("leave", "weft vcp leave blue c5-lan\nweft vcp leave blue c5-lan --confirm-within 60")
def leave(vcp: Vcp, endpoint: Endpoint, dry_run: DryRun = False, confirm_within: ConfirmWithin = None) -> None:
    """Take an endpoint out of a pool. After the reply, no frame of it reaches the others."""
    options = {"dry_run": dry_run or None, "confirm_within": confirm_within}
    with Client() as api:
        change = api.delete(path("vcps", vcp, "members", endpoint), **options)
        print_change(f"{endpoint} leaves {vcp}", change)
