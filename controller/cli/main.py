"""The `weft` command."""

import os
import sys
from collections.abc import Sequence

from controller.cli import (
    access,
    addresses,
    audit,
    certificates,
    changes,
    cloudlets,
    consents,
    delegations,
    devices,
    endpoints,
    events,
    lab,
    leases,
    moves,
    neighbours,
    policy_history,
    predictions,
    profiles,
    replicas,
    reservations,
    routes,
    sightings,
    tokens,
    tunnels,
    vcps,
    vms,
)
from controller.cli.doctor import doctor
from controller.cli.login import login, logout
from controller.cli.noun import Colours, Format, Noun, Url, set_session
from controller.cli.session import begin

app = Noun(
    "weft",
    "Joins cloudlets into Virtual Cloud Pools.\n\n"
    "Exit codes: 0 done; 1 a check failed or differences were found; 2 wrong usage; 3 the controller refused; "
    "4 no controller answers.\n\n"
    "Environment: WEFT_URL says where the controller is; WEFT_TOKEN_FILE is a file with your token, or WEFT_TOKEN the "
    "token itself (not needed on a socket). WEFT_ROOT_FILE is a file with the region's root (`weft certificate "
    "authority`), for an https:// URL of the controller's own.",
)
for noun in (
    cloudlets,
    certificates,
    endpoints,
    consents,
    vcps,
    devices,
    vms,
    moves,
    predictions,
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
    access,
    changes,
    replicas,
    lab,
    events,
    tokens,
    audit,
):
    app.add_typer(noun.app)
app.verb(
    "login",
    "weft login --issuer https://id.example.org/realms/ops\nWEFT_OIDC_ISSUER=https://id.example.org weft login",
)(login)
app.verb("logout", "weft logout")(logout)
app.verb("doctor", "weft doctor\nweft doctor --output json")(doctor)


@app.callback()
def options(url: Url = None, output: Format = None, color: Colours = None) -> None:
    """Options that hold for every command; they may also stand after it."""
    begin()
    set_session(url, output, color)


def run(arguments: Sequence[str]) -> int:
    """Runs one command; the exit code."""
    try:
        app(list(arguments), prog_name="weft")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:
        code = 130
    else:
        code = 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def main() -> None:
    """Entry point."""
    sys.exit(run(sys.argv[1:]))
