"""The `weft` command."""

import os
import sys
from collections.abc import Sequence

from controller.cli import changes, cloudlets, devices, endpoints, events, lab, leases, policies, routes, vcps
from controller.cli.doctor import doctor
from controller.cli.noun import Format, Noun, Url, set_session
from controller.cli.session import begin

app = Noun(
    "weft",
    "Joins cloudlets into Virtual Cloud Pools.\n\n"
    "Exit codes: 0 done; 1 a check failed or differences were found; 2 wrong usage; 3 the controller refused; "
    "4 no controller answers.\n\n"
    "Environment: WEFT_URL says where the controller is, WEFT_TOKEN is the operators' token (not needed on a socket).",
)
for noun in (cloudlets, endpoints, vcps, devices, leases, routes, policies, changes, lab, events):
    app.add_typer(noun.app)
app.verb("doctor", "weft doctor\nweft doctor --output json")(doctor)


@app.callback()
def options(url: Url = None, output: Format = None) -> None:
    """Options that hold for every command; they may also stand after it."""
    begin()
    set_session(url, output)


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
