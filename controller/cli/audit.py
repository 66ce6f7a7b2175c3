"""`weft audit`: changes and their actors."""

from typing import Annotated

import typer

from controller.cli.cells import at
from controller.cli.client import Client, path
from controller.cli.failures import CheckFailed
from controller.cli.noun import Noun
from controller.cli.output import done, rows

app = Noun("audit", "The audit log: changes with their authors, and a check for tampering.")

COLUMNS = [
    ("NUMBER", at("number")),
    ("AT (UTC)", lambda row: str(row.get("at"))[:19]),
    ("WHO", at("who")),
    ("METHOD", at("method")),
    ("PATH", at("path")),
    ("STATUS", at("status")),
]
Limit = Annotated[int, typer.Option(min=1, help="Maximum entries: the latest ones.")]
Noted = Annotated[str | None, typer.Option(metavar="NUMBER:SEAL", help="Printed by an earlier `weft audit verify`.")]


@app.verb("list", "weft audit list\nweft audit list --who 'token ana' --under /api/v1/vcps\nweft audit list -o json")
def list_(
    who: Annotated[str | None, typer.Option(help="Only by `token NAME`, `admin token`, `unix socket`, …")] = None,
    method: Annotated[str | None, typer.Option(help="Only POST, PATCH or DELETE.")] = None,
    under: Annotated[str | None, typer.Option(help="Only requests below this path.")] = None,
    status: Annotated[int | None, typer.Option(help="Only answers with this status, such as 403.")] = None,
    limit: Limit = 100,
) -> None:
    """List the latest entries, the last one last. JSON has the request, and the values before and after."""
    with Client() as api:
        found = api.items(path("audit"), limit=limit, who=who, method=method, under=under, status=status)
        rows(reversed(list(found)), COLUMNS, "no entries")


@app.verb("verify", "weft audit verify\nweft audit verify --noted 120:5f2c…")
def verify(noted: Noted = None) -> None:
    """Compute all seals again. Ends with 1 if an entry does not match its seal, and names the first such entry."""
    number, _, seal = (noted or "").partition(":")
    with Client() as api:
        found = api.get(path("audit", "verification"), number=number or None, seal=seal or None)
        done(found, f"{found['number']} entries are as they were sealed; the last is {found['number']}:{found['seal']}")
    if flaw := found["flaw"]:
        raise CheckFailed(f"the audit log was tampered with: {flaw['reason']}")
