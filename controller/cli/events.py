"""`weft event`: past and present events."""

from itertools import islice
from typing import Annotated, Any

import typer

from controller.cli.cells import at, plain, prose
from controller.cli.client import PAGE, Client, Json, path
from controller.cli.documents import stream
from controller.cli.moments import HELP, moment
from controller.cli.noun import Noun
from controller.cli.output import rows, say
from controller.cli.session import session

app = Noun("event", "Events of the region: past ones, and new ones as they happen.")

COLUMNS = [
    ("ID", at("id")),
    ("AT (UTC)", lambda row: str(row.get("at"))[:19]),
    ("TYPE", at("type")),
    ("SUBJECT", at("subject")),
    ("WHAT", prose("text")),
]
Limit = Annotated[int, typer.Option(min=1, max=1_000_000, help="Maximum number of events.")]
Before = Annotated[str | None, typer.Option(metavar="ID", help="Only events before this one.")]
After = Annotated[str | None, typer.Option(metavar="ID", help="Only events after this one.")]
Type = Annotated[str | None, typer.Option(help="Only this type, or all types with this prefix: 'move-*'.")]
About = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only about this cloudlet, endpoint, VCP, device or VM, present or past."),
]
Source = Annotated[str | None, typer.Option(help="Only events caused by cloudlet:c1, endpoint:c1-lan, pe:….")]


@app.verb(
    "list",
    "weft event list\nweft event list --after 120 --limit 20\nweft event list --before 120\n"
    "weft event list --about blue --since 2h\nweft event list --type 'move-*' --until 2026-01-31",
)
def list_(
    after: After = None,
    before: Before = None,
    type: Type = None,
    about: About = None,
    source: Source = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=HELP)] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only events before this time (UTC), or how long ago.")
    ] = None,
    limit: Limit = 100,
) -> None:
    """List the latest events, or the latest before another one, or the first after one."""
    only: dict[str, Any] = {"type": type, "about": about, "source": source}
    only |= {"since": moment("--since", since), "until": moment("--until", until)}
    with Client() as api:
        if after is None:
            found = _latest(api, limit, before, only)
        else:
            found = list(islice(api.events_kept(path("events"), after, before=before, **only), limit))
        rows(found, COLUMNS, "no events")


def _latest(api: Client, limit: int, before: str | None, only: dict[str, Any]) -> list[Json]:
    """Return the latest events before one, or of all, in order."""
    found: list[Json] = []
    while len(found) < limit:
        wanted = min(PAGE, limit - len(found))
        older = list(api.events_kept(path("events"), None, wanted, latest=True, before=before, **only))
        found = older + found
        if len(older) < wanted:
            break
        before = str(older[0]["id"])
    return found


@app.verb(
    "follow",
    "weft event follow\nweft event follow --after 120 --output json\nweft event follow --type 'move-*' --about web",
)
def follow(after: After = None, type: Type = None, about: About = None, source: Source = None) -> None:
    """Print events as they happen, until Ctrl-C. With JSON, one document a line."""
    with Client() as api:
        for number, event in api.events(path("events"), after, type=type, about=about, source=source):
            if session.documents:
                stream(event)
            else:
                say(f"{number:>6}  {plain(event.get('type')):<24}  {plain(event.get('text'))}")
