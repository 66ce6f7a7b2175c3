"""`weft vm synthesise`: a VM that starts anew at another cloudlet."""

from typing import Annotated, Any

import typer

from controller.cli.arguments import Endpoint
from controller.cli.client import Client, path
from controller.cli.moves import follow
from controller.cli.output import done
from controller.cli.vms import Vm, app


@app.verb("synthesise", "weft vm synthesise web c2-lan\nweft vm synthesise web c2-lan --watch")
def synthesise(
    vm: Vm,
    endpoint: Endpoint,
    linger: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="How long the old machine stays at most. [default: the policy's value]"
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="A note for the record.")] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow it to its end.")] = False,
) -> None:
    """Start a VM anew at another cloudlet. No state moves there, unless the VM has a handover. The old machine serves
    until the new one answers, and is removed after its last connection."""
    body: dict[str, Any] = {"vm": vm, "endpoint": endpoint, "reason": reason}
    if linger is not None:
        body["linger"] = linger
    with Client() as api:
        answer = api.post(path("moves", "initiation"), body)
        if watch:
            follow(api, answer["name"])
        else:
            name = answer["name"]
            done(answer, f"{name}: {vm} is to start anew at {endpoint}; `weft move watch {name}` shows how")
