"""`weft replica`: the controllers that serve the region together, and which of them leads."""

from controller.cli.cells import at, state
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import rows, when

app = Noun("replica", "Controllers that serve the region together.")

COLUMNS = [
    ("NAME", at("name")),
    ("ALIVE", state("alive")),
    ("LEADS", at("leading")),
    ("AGENTS", at("agents")),
    ("VERSION", at("release")),
    ("STARTED", when("started_at")),
    ("SEEN", when("seen_at")),
]


@app.verb("list", "weft replica list\nweft replica list --output json")
def list_() -> None:
    """List the replicas, as the one that answers knows them."""
    with Client() as api:
        rows(api.items(path("replicas")), COLUMNS, "no replicas")
