"""`weft neighbour`: measured round trips between cloudlets."""

import csv
import sys
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import typer

from controller.cli.arguments import Cloudlet
from controller.cli.cells import Row, at, toned
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.documents import emit
from controller.cli.moments import HELP, moment
from controller.cli.noun import Noun
from controller.cli.output import milliseconds, rows, say, table, when
from controller.cli.session import Output, session

app = Noun("neighbour", "Round trips between cloudlets, and the possible neighbours.")

WIDEST = 16
"""Maximum number of cloudlets in a table; more are for programs."""


class Span(StrEnum):
    """The period of one line of a history."""

    ROUND = "round"
    HOUR = "hour"
    DAY = "day"


def ms(*keys: str) -> Any:
    """Return a function that gets the time below `keys`."""
    get = at(*keys)
    return lambda row: milliseconds(get(row))


def loss(row: Row) -> str:
    """Return the loss of a row, such as `0 %`."""
    value = row.get("loss")
    return f"{100 * value:.0f} %" if isinstance(value, int | float) else "-"


def state(row: Row) -> object:
    """Return the state of a neighbour as one word."""
    return toned("stale" if row.get("stale") else "possible" if row.get("possible") else "far")


MEASURED = [
    ("MEDIAN", ms("median_ms")),
    ("MIN", ms("min_ms")),
    ("P95", ms("p95_ms")),
    ("JITTER", ms("jitter_ms")),
    ("LOSS", loss),
    ("BY", at("method")),
]
COLUMNS = [
    ("CLOUDLET", at("cloudlet")),
    ("NEIGHBOUR", at("neighbour")),
    ("STATE", state),
    *MEASURED,
    ("MEASURED", when("at")),
]
HISTORY = [("AT (UTC)", lambda row: str(row.get("at"))[:19]), ("ROUNDS", at("rounds")), *MEASURED]
BANDWIDTH = [
    ("FROM", at("cloudlet")),
    ("TO", at("neighbour")),
    ("MBIT/S", lambda row: f"{row['bits_per_second'] / 1e6:,.1f}"),
    ("MOVES", at("moves")),
    ("LAST", lambda row: f"{row['last_bytes'] / 1e6:,.1f} MB in {row['last_seconds']:.1f} s"),
    ("WHEN", when("at")),
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(metavar="[CLOUDLET]", help="Only measurements by this one.", autocompletion=names("cloudlets")),
]


@app.verb("list", "weft neighbour list\nweft neighbour list c1\nweft neighbour list c1 --possible")
def list_(
    cloudlet: OneOrAll = None,
    possible: Annotated[bool, typer.Option("--possible", help="Only destinations for moves.")] = False,
    stale: Annotated[bool, typer.Option("--stale", help="Only neighbours without a recent measurement.")] = False,
) -> None:
    """List the latest measurements between cloudlets."""
    with Client() as api:
        found = api.items(path("neighbours"), cloudlet=cloudlet, possible=possible or None, stale=stale or None)
        rows(found, COLUMNS, "nothing measured")


@app.verb(
    "history",
    "weft neighbour history c1 c2\nweft neighbour history c1 c2 --since 2h\n"
    "weft neighbour history c1 c2 --span day --since 2026-01-01",
)
def history(
    cloudlet: Cloudlet,
    neighbour: Cloudlet,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=HELP)] = None,
    span: Annotated[Span, typer.Option(help="The period of one line.")] = Span.ROUND,
) -> None:
    """List one cloudlet's measurements of another, oldest first."""
    with Client() as api:
        found = api.items(
            path("neighbours", "history"),
            cloudlet=cloudlet,
            neighbour=neighbour,
            span=span.value,
            since=moment("--since", since),
        )
        rows(found, HISTORY, f"{cloudlet} has measured nothing of {neighbour} in that time")


@app.verb("matrix", "weft neighbour matrix\nweft neighbour matrix --vcp blue\nweft neighbour matrix -o csv > rtt.csv")
def matrix(
    vcp: Annotated[
        str | None, typer.Option(help="Only the cloudlets of this pool.", autocompletion=names("vcps"))
    ] = None,
) -> None:
    """Print median round trips in milliseconds. A line for each measuring cloudlet, a column for each measured one.
    In CSV, unknown values are empty."""
    with Client() as api:
        found = _whole(api.pages(path("neighbours", "matrix"), vcp=vcp))
    known: list[str] = found["cloudlets"]
    medians: dict[str, dict[str, float | None]] = found["median_ms"]
    if session.output is Output.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["cloudlet", *known])
        for one in known:
            writer.writerow([one, *(_number(medians.get(one, {}).get(other)) for other in known)])
    elif session.documents:
        emit(found)
    elif not medians:
        say("nothing measured")
    elif len(known) > WIDEST:
        say(f"{len(known)} cloudlets are too many for a table: try --vcp, or --output csv")
    else:
        lines = [[one, *(_cell(medians, one, other) for other in known)] for one in known]
        table(["FROM", *known], lines)


@app.verb("bandwidth", "weft neighbour bandwidth\nweft neighbour bandwidth c1")
def bandwidth(cloudlet: OneOrAll = None) -> None:
    """List the bandwidths between cloudlets, as moves of VMs measured them."""
    with Client() as api:
        rows(api.items(path("neighbours", "bandwidths"), cloudlet=cloudlet), BANDWIDTH, "no moves yet")


def _whole(pages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the matrix that the pages have together."""
    first, *others = pages
    for page in others:
        first["median_ms"] |= page["median_ms"]
    return {"cloudlets": first["cloudlets"], "median_ms": first["median_ms"]}


def _cell(medians: dict[str, dict[str, float | None]], one: str, other: str) -> str:
    if one == other:
        return "."
    if other not in medians.get(one, {}):
        return "-"
    return _number(medians[one][other]) or "lost"


def _number(median: float | None) -> str:
    return "" if median is None else f"{median:.2f}"
