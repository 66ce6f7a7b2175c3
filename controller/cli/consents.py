"""`weft consent`: consents of tenants to their endpoints."""

from controller.cli.arguments import Endpoint, OfCloudlet
from controller.cli.cells import at, state
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.noun import Noun
from controller.cli.output import rows, when

app = Noun("consent", "Consent of tenants to their endpoints, where the policy asks for it.")

COLUMNS = [
    ("ENDPOINT", at("name")),
    ("TENANT", at("tenant")),
    ("CLOUDLET", at("cloudlet")),
    ("PREFIX", at("prefix")),
    ("CONSENT", state("consent", "state")),
    ("BY", at("consent", "by")),
    ("AT", when("consent", "at")),
]


@app.verb("list", "weft consent list\nWEFT_TOKEN_FILE=acme.token weft consent list")
def list_(cloudlet: OfCloudlet = None) -> None:
    """List endpoints whose tenant must consent, or has consented. Endpoints that are waiting or withdrawn are held
    back."""
    with Client() as api:
        found = api.items(path("endpoints"), cloudlet=cloudlet)
        asked = (one for one in found if (one.get("consent") or {}).get("state", "unasked") != "unasked")
        rows(asked, COLUMNS, "nobody was asked, and nobody has consented")


@app.verb("give", "WEFT_TOKEN_FILE=acme.token weft consent give c1-lan")
def give(endpoint: Endpoint) -> None:
    """Consent to an endpoint: it is yours, and may come into force. Needs a token of its tenant, or of an admin."""
    with Client() as api:
        print_change(f"{endpoint} is consented to", api.post(path("endpoints", endpoint, "consent")))


@app.verb("revoke", "WEFT_TOKEN_FILE=acme.token weft consent revoke c1-lan")
def revoke(endpoint: Endpoint) -> None:
    """Withdraw a consent. The endpoint leaves all pools, and is held back at once."""
    with Client() as api:
        print_change(f"the consent to {endpoint} is withdrawn", api.delete(path("endpoints", endpoint, "consent")))
