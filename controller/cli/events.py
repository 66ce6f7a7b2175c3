"""`weft event`: what happened, and what happens."""

import json
from collections import deque
from itertools import islice
from typing import Annotated

import typer

from controller.cli.cells import at, plain, prose
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import rows, say
from controller.cli.session import session

app = Noun("event", "What happened in the region, and what happens now.")

COLUMNS = [
    ("ID", at("id")),
    ("AT (UTC)", lambda row: str(row.get("at"))[:19]),
    ("TYPE", at("type")),
    ("SUBJECT", at("subject")),
    ("WHAT", prose("text")),
]
Limit = Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many.")]
After = Annotated[str | None, typer.Option(metavar="ID", help="Only what came after this event.")]


@app.verb("list", "weft event list\nweft event list --after 120 --limit 20")
def list_(after: After = None, limit: Limit = 100) -> None:
    """The latest events, or the first after another one."""
    with Client() as api:
        found = api.events_kept(path("events"), after)
        rows(islice(found, limit) if after else deque(found, limit), COLUMNS, "no events")


@app.verb("follow", "weft event follow\nweft event follow --after 120 --output json")
def follow(after: After = None) -> None:
    """Events as they happen, until Ctrl-C. With JSON, one document a line."""
    with Client() as api:
        for number, event in api.events(path("events"), after):
            if session.json:
                print(json.dumps(event, ensure_ascii=False), flush=True)
            else:
                say(f"{number:>6}  {plain(event.get('type')):<24}  {plain(event.get('text'))}")
