"""The `weft-lab` command: a whole region in network namespaces on this machine."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.cells import at, plain, state
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed, Failure, WrongUsage
from controller.cli.noun import Colours, Format, Noun, set_session
from controller.cli.output import rows, say
from controller.cli.program import run_program
from controller.cli.session import begin, session
from lab import web_ui
from lab.errors import LabError
from lab.paths import ROOT
from lab.region import Region

app = Noun(
    "weft-lab", "A whole region in network namespaces on this machine, with real daemons. Needs root.", asks=False
)

COLUMNS = [
    ("NAME", at("name")),
    ("NODE", at("node")),
    ("STATE", state("state")),
    ("PID", at("pid")),
    ("MEMORY", lambda row: f"{(row.get('resident_bytes') or 0) / 2**20:.0f} MiB"),
    ("CPU", lambda row: f"{row.get('cpu_seconds') or 0:.1f} s"),
    ("LOG", at("log")),
]


@app.callback()
def options(output: Format = None, color: Colours = None) -> None:
    """Set the options that hold for every command; they may also stand after it."""
    begin()
    set_session(None, None, output, color)


@app.verb("up", "weft-lab up\nweft-lab up lab/topologies/small.yaml")
def up(
    topology: Annotated[
        Path | None, typer.Argument(help="A topology file. [default: lab/topologies/demo.yaml]")
    ] = None,
) -> None:
    """Build the region: PEs, route servers, controller, agents, devices. On failure nothing stays behind."""
    region = _lab()
    path = topology or ROOT / "lab/topologies/demo.yaml"
    if not path.is_file():
        raise WrongUsage(f"{path}: there is no such topology file")
    try:
        region.load(path).up(_progress)
    except LabError as error:
        raise Failure(str(error)) from None


@app.verb("status", "weft-lab status")
def status() -> None:
    """Show the daemons of the lab. Exits with 1 when the lab is not up or one of its daemons has stopped."""
    found = _running()
    summary, daemons = found.summary(), found.status()
    stopped = [plain(row["name"]) for row in daemons if row.get("state") != "running"]
    if session.documents:
        emit({**summary, "daemons": daemons})
    else:
        say(
            f"{plain(summary['topology'])}: {plain(summary['phase'])}, {summary['namespaces']} namespaces, "
            f"WAN by {plain(summary['wan'])}"
        )
        rows(daemons, COLUMNS, "nothing runs")
        if leases := summary["leases"]:
            say("", "addresses: " + plain(leases))
        if summary["ui"]:
            say(f"web UI: {plain(summary['ui'])}, with the token in {web_ui.TOKEN}")
    if stopped:
        raise CheckFailed(f"stopped: {', '.join(stopped)}")


@app.verb("down", "weft-lab down")
def down() -> None:
    """Remove the lab, if there is one. Works from any state; only logs stay, below build/lab."""
    region = _lab()
    try:
        region.remove(_progress)
    except LabError as error:
        raise Failure(str(error)) from None


@app.verb(
    "exec",
    "weft-lab exec m1 -- ping -c 3 10.2.0.3\nweft-lab exec c1 -- bridge fdb show",
    context_settings={"allow_interspersed_args": False},
)
def execute(
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="A cloudlet, device, VM, route server or the controller.")
    ],
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command to run there.")],
) -> None:
    """Run a command in a node's network namespace and exit with the command's own exit code."""
    _lab()
    from lab import netns

    try:
        words = command[1:] if command[0] == "--" else command
        argv = netns.command(_running().namespace(node), words)
    except LabError as error:
        raise WrongUsage(str(error)) from None
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)
    except (OSError, ValueError) as error:
        raise Failure(f"cannot run {argv[0]}: {error}") from None


def _lab() -> type[Region]:
    """Return the lab's code, for root only."""
    if os.geteuid() != 0:
        raise Failure("the lab makes network namespaces, and only root may: run it with sudo")
    return Region


def _running() -> Region:
    region = _lab()
    try:
        found = region.running()
    except LabError as error:
        raise Failure(str(error)) from None
    if found is None:
        raise CheckFailed("no lab is up: `weft-lab up` starts one")
    return found


def _progress(line: str) -> None:
    """Print a line, in JSON mode to standard error, because standard output is then for programs."""
    print(line, file=sys.stderr if session.documents else sys.stdout, flush=True)


def main() -> None:
    """Run the command line."""
    sys.exit(run_program(app, "weft-lab", sys.argv[1:]))
