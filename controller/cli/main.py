"""The `weft` command."""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

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
from controller.cli.failures import INTERRUPTED, UNHEARD, UNTOLD, WrongUsage, untold
from controller.cli.login import login, logout
from controller.cli.noun import Colours, Format, Noun, Url, set_session
from controller.cli.output import complain
from controller.cli.session import begin

app = Noun(
    "weft",
    "Joins cloudlets into Virtual Cloud Pools.\n\n"
    "Exit codes: 0 done; 1 a check failed or differences were found; 2 wrong usage; 3 the controller refused; "
    "4 no controller answers, or something that is not Weft; 70 a defect of weft; 74 a file or the output cannot be "
    "written; 130 Ctrl-C; 141 nobody reads the output.\n\n"
    "Environment: WEFT_URL says where the controller is; WEFT_TOKEN_FILE is a file with your token, or WEFT_TOKEN the "
    "token itself (not needed on a socket). WEFT_ROOT_FILE is a file with the region's root (`weft certificate "
    "authority`), for an https:// URL of the controller's own. NO_COLOR turns colours off.",
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
    """Run one command; the exit code."""
    out, err = sys.stdout, sys.stderr = [_writable(stream) for stream in (sys.stdout, sys.stderr)]
    if any("\udc80" <= character <= "\udcff" for word in arguments for character in word):
        complain("an argument is not UTF-8 text")
        return WrongUsage.exit_code
    try:
        app(list(arguments), prog_name="weft")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = UNHEARD
    except OSError as error:
        complain(untold(error))
        code = UNTOLD
    else:
        code = 0
    if (sys.stdout, sys.stderr) != (out, err):  # typer found that nobody reads
        (sys.stdout, sys.stderr), code = (out, err), UNHEARD
    return _flushed(code)


def _writable(stream: TextIO | None) -> TextIO:
    """A stream that takes any text: one that is closed takes it, too, and forgets it."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # ✓ where the locale has no such sign
    return stream


def _flushed(code: int) -> int:
    """The exit code, after what is left to write is written."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        code = UNHEARD
    except OSError as error:
        if code != UNTOLD:  # else that was said: some releases of Python try again what could not be written
            complain(untold(error))
        code = UNTOLD
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def main() -> None:
    """Entry point."""
    sys.exit(run(sys.argv[1:]))
