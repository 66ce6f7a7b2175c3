"""The `weft` command."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from controller.cli import (
    access,
    addresses,
    audit,
    certificates,
    changes,
    cloudlets,
    consents,
    context,
    delegations,
    devices,
    endpoints,
    events,
    images,
    initiations,
    inventory_import,
    leases,
    moves,
    neighbours,
    policy_history,
    predictions,
    profiles,
    replicas,
    reservations,
    routes,
    scheduled_moves,
    sightings,
    tokens,
    tunnels,
    vcps,
    vms,
    webhooks,
)
from controller.cli.doctor import doctor
from controller.cli.gather import gather
from controller.cli.grouped_help import GroupedHelp
from controller.cli.login import login, logout
from controller.cli.noun import Colours, Format, InContext, Noun, Url, set_session
from controller.cli.output import say
from controller.cli.program import run_program
from controller.cli.session import begin
from controller.cli.variables import VARIABLES
from controller.cli.verify import verify
from controller.wire.release import release

app = Noun(
    "weft",
    "Joins cloudlets into Virtual Cloud Pools.\n\n"
    "Exit codes: 0 done; 1 a check failed or differences were found; 2 wrong usage; 3 the controller refused; "
    "4 no controller answers, or something that is not Weft; 70 a defect of weft; 74 a file or the output cannot be "
    "written; 130 Ctrl-C; 141 nobody reads the output.\n\n"
    f"Environment: {'; '.join(f'{name}: {meaning}' for name, meaning in VARIABLES.items())}.",
    cls=GroupedHelp,
)
for noun in (
    cloudlets,
    certificates,
    endpoints,
    consents,
    vcps,
    devices,
    vms,
    initiations,
    images,
    moves,
    predictions,
    scheduled_moves,
    profiles,
    leases,
    delegations,
    addresses,
    reservations,
    neighbours,
    tunnels,
    sightings,
    routes,
    policy_history,
    inventory_import,
    access,
    changes,
    replicas,
    events,
    webhooks,
    tokens,
    audit,
    context,
):
    app.add_typer(noun.app)
app.verb(
    "login",
    "weft login --issuer https://id.example.org/realms/ops\nWEFT_OIDC_ISSUER=https://id.example.org weft login",
)(login)
app.verb("logout", "weft logout")(logout)
app.verb("doctor", "weft doctor\nweft doctor --output json")(doctor)
app.verb("gather", "weft gather\nweft gather --to report.tar.gz --anonymous --no-policy --audit 200")(gather)
app.verb("verify", "weft verify\nweft verify c1 c2\nweft verify c1-lan c3 --output json")(verify)


def _version(asked: bool) -> None:
    if asked:
        say(f"weft {release()}")
        raise typer.Exit


@app.callback()
def options(
    url: Url = None,
    context: InContext = None,
    output: Format = None,
    color: Colours = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of every command; they may also follow it."""
    begin()
    set_session(url, context, output, color)


def run(arguments: Sequence[str]) -> int:
    """Run one command, and return the exit code."""
    return run_program(app, "weft", arguments)


def main() -> None:
    """Run the command line's command."""
    sys.exit(run(sys.argv[1:]))
