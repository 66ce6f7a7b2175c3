"""`weft move schedule`, `weft move scheduled` and `weft move unschedule`: moves that begin at a time."""

from typing import Annotated

import typer

from controller.cli.cells import Prose, Row, at, state
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.moments import coming
from controller.cli.moves import app
from controller.cli.output import done, rows, when

COLUMNS = [
    ("NAME", at("name")),
    ("VM", at("vm")),
    ("TO", at("endpoint")),
    ("AT", when("at")),
    ("STATE", state("state")),
    ("MOVE", at("move")),
    ("ASKED BY", at("asked_by")),
    ("WHY", lambda row: Prose(row.get("detail") or row.get("reason") or "")),
]


@app.verb("schedule", "weft move schedule web c2-lan 2030-01-31T18:00\nweft move schedule web c2-lan 6h --keep")
def schedule(
    vm: Annotated[str, typer.Argument(metavar="VM", help="A VM's name.", autocompletion=names("vms"))],
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Target LAN.", autocompletion=names("endpoints"))],
    time: Annotated[
        str, typer.Argument(metavar="TIME", help="When: ISO 8601 (UTC), or how long from now: 90min, 6h, 30d.")
    ],
    keep: Annotated[bool, typer.Option("--keep", help="Keep its address.")] = False,
    copied_before: Annotated[
        int,
        typer.Option(metavar="SECONDS", min=0, max=86400, help="Copy memory and disk there so long before. [0: not]"),
    ] = 0,
    reason: Annotated[str, typer.Option(help="A note for the record.")] = "",
) -> None:
    """Move a VM to another cloudlet at a time. Moves that recur are in the policy (migration.schedule)."""
    body: Row = {"vm": vm, "endpoint": endpoint, "at": coming("TIME", time), "keep": keep, "reason": reason}
    with Client() as api:
        answer = api.post(path("moves", "scheduled"), body | {"copied_before": copied_before})
    done(answer, f"{answer['name']}: {vm} is to move to {endpoint} at {answer['at']}")


@app.verb("scheduled", "weft move scheduled\nweft move scheduled --vm web --state missed")
def scheduled(
    vm: Annotated[str | None, typer.Option(help="Only of this VM.", autocompletion=names("vms"))] = None,
    state: Annotated[
        str, typer.Option(help="Only moves that are waiting, begun, refused, missed, cancelled.")
    ] = "waiting",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of moves.")] = 100,
) -> None:
    """List scheduled moves, the earliest first, with the next ones of the policy's schedule."""
    with Client() as api:
        found = api.items(path("moves", "scheduled"), limit, vm=vm, state=state)
        rows(found, COLUMNS, f"no scheduled moves are {state}")


@app.verb("unschedule", "weft move unschedule scheduled-0a1b2c3d4e")
def unschedule(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A scheduled move's name (`weft move scheduled`).")],
) -> None:
    """Cancel a scheduled move that has not begun; of the policy's schedule, this one time."""
    with Client() as api:
        answer = api.delete(path("moves", "scheduled", name))
    done(answer, f"{name}: {answer['vm']} is not to move to {answer['endpoint']} at {answer['at']}")
