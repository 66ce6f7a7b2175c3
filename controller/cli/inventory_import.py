"""`weft inventory import`: an inventory of the objects that another system keeps."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.destination import sendable, token_in_file
from controller.cli.documents import emit
from controller.cli.failures import CheckFailed, Failure, WrongUsage
from controller.cli.inventory_history import app as app
from controller.cli.output import located
from controller.cli.policy_plans import print_errors
from controller.cli.session import session
from controller.cli.texts import lacking, read

TOKEN = "WEFT_NETBOX_TOKEN"


class From(StrEnum):
    """Systems of which an inventory can be made."""

    NETBOX = "netbox"


System = Annotated[From, typer.Argument(metavar="netbox", help="The system to import from.", show_default=False)]
At = Annotated[str, typer.Option("--at", metavar="URL", help="NetBox: https://…, without /api.")]
TokenFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help=f"The file with your token there. [default: the token in {TOKEN}]")
]
RootFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Authorities of NetBox's certificate, in PEM. [default: the machine's]"),
]
MappingFile = Annotated[
    str | None,
    typer.Option("--mapping", metavar="FILE", help="Which objects become what (docs/reference/netbox.md)."),
]
To = Annotated[Path | None, typer.Option(metavar="FILE", help="Replace this file, and only by a whole inventory.")]


@app.verb(
    "import",
    "weft inventory import netbox --at https://netbox.example.net --token-file netbox.token > inventory.yaml\n"
    "weft inventory import netbox --at https://netbox.example.net --mapping netbox.yaml --to inventory.yaml",
    asks=False,
)
def import_(
    system: System,
    at: At,
    token_file: TokenFile = None,
    root_file: RootFile = None,
    mapping: MappingFile = None,
    to: To = None,
) -> None:
    """Print an inventory of the objects in a NetBox, which `weft inventory plan` takes. Asks no controller, and changes
    nothing. Each error names the page of its object in NetBox."""
    try:
        from controller.cli.netbox import NetBox
        from controller.core.netbox import MappingInvalid, NotImportable, default, parse, translate
    except ImportError as error:
        if error.name in ("pynetbox", "requests", "urllib3"):
            text = f"reading a NetBox needs the Python package {error.name}"
            raise Failure(f"{text}: install weft with the extra 'netbox'") from None
        raise lacking(error) from None
    text = read(mapping) if mapping is not None else ""
    try:
        chosen = default() if mapping is None else parse(text, mapping)
    except MappingInvalid as invalid:
        errors = [vars(error) for error in invalid.errors]
        print_errors(errors, text)
        if session.documents:
            emit({"errors": errors})
        raise CheckFailed(f"{mapping}: not right") from None
    with NetBox(at, _token(token_file), root_file) as netbox:
        session.source = netbox.url
        snapshot = netbox.snapshot(chosen)
    for note in netbox.notes:
        located(f"{netbox.url}:", "warning: ", note)
    try:
        made = translate(snapshot, chosen)
    except NotImportable as wrong:
        if session.documents:
            emit({"errors": [vars(finding) for finding in wrong.findings]})
        else:
            for one in wrong.findings:
                located(f"{one.url}:", "", one.said)
        count = len(wrong.findings)
        said = f"{count} error{'s' if count > 1 else ''}"
        raise CheckFailed(f"no inventory of {netbox.url}: {said}; nothing was written") from None
    if to is not None:
        _replace(to, made.text)
    if session.documents:
        emit({"text": made.text, "objects": dict(made.objects), "warnings": netbox.notes})
    elif to is None:
        sys.stdout.write(made.text)


def _token(file: Path | None) -> str:
    """Return the token for NetBox. Raises WrongUsage."""
    given = os.environ.get(TOKEN, "")
    token = token_in_file("--token-file", str(file)) if file is not None else sendable(TOKEN, given)
    if not token:
        raise WrongUsage(f"NetBox needs a token: --token-file names its file, or {TOKEN} is the token")
    return token


def _replace(to: Path, text: str) -> None:
    """Replace a file by another as a whole. Raises WrongUsage."""
    part = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(to)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WrongUsage(f"--to: cannot write {to}: {error.strerror}") from None
