"""`weft delegation`: ranges of addresses that agents lease by themselves."""

from controller.cli.arguments import OfEndpoint
from controller.cli.cells import at
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import rows, when

app = Noun("delegation", "Ranges of addresses that agents lease by themselves.")

COLUMNS = [
    ("ENDPOINT", at("endpoint")),
    ("EPOCH", at("epoch")),
    ("AGENT'S MEMORY", at("incarnation")),
    ("BLOCKS", at("blocks")),
    ("PAIRS", at("pairs")),
    ("SINCE", when("made_at")),
    ("RESTS UNTIL", when("rests_until")),
]


@app.verb("list", "weft delegation list\nweft delegation list --endpoint c1-lan")
def list_(endpoint: OfEndpoint = None) -> None:
    """List the delegations, with the number of pairs of each. A delegation that rests leases nothing more."""
    with Client() as api:
        rows(api.items(path("delegations"), endpoint=endpoint), COLUMNS, "no delegations")
