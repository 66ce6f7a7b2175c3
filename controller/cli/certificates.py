"""`weft certificate`: certificates of cloudlets, their ends, and revocations."""

from typing import Annotated, Any, Literal

import typer

from controller.cli.cells import at, prose, state
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows, say, when
from controller.cli.session import session

app = Noun("certificate", "Certificates of cloudlets, and the authority that issues them.")

COLUMNS = [
    ("SERIAL", at("serial")),
    ("CLOUDLET", at("cloudlet")),
    ("STANDING", state("standing")),
    ("ISSUED", when("not_before")),
    ("EXPIRES", when("not_after")),
    ("REVOKED", when("revoked_at")),
]
DETAILS = [*COLUMNS, ("REASON", prose("reason")), ("FINGERPRINT", at("fingerprint")), ("ISSUER", at("issuer"))]
Serial = Annotated[str, typer.Argument(metavar="SERIAL", help="As `weft certificate list` shows it.")]
OfCloudlet = Annotated[str | None, typer.Option("--cloudlet", metavar="NAME", help="Only those of one cloudlet.")]

OfFormer = Annotated[
    bool, typer.Option("--former", help="Only valid ones of an authority other than the one that issues now.")
]
OfStanding = Annotated[
    Literal["good", "expired", "revoked"] | None, typer.Option("--standing", help="Only those that are so now.")
]
EXAMPLES = """weft certificate list
weft certificate list --cloudlet c1
weft certificate list --standing good
weft certificate list --former"""


@app.verb("list", EXAMPLES)
def list_(cloudlet: OfCloudlet = None, standing: OfStanding = None, former: OfFormer = False) -> None:
    """List certificates that are valid, and those that expired or were revoked lately."""
    only = {"cloudlet": cloudlet, "standing": standing, "former": "true" if former else None}
    with Client() as api:
        found = api.items(path("certificates"), None, **only)
        rows(found, COLUMNS, "no such certificates" if any(only.values()) else "no certificates")


@app.verb("show", "weft certificate show 4f6d…")
def show(serial: Serial) -> None:
    """Show one certificate in full."""
    with Client() as api:
        card(api.get(path("certificates", serial)), DETAILS)


@app.verb("revoke", "weft certificate revoke 4f6d…")
def revoke(serial: Serial) -> None:
    """Revoke a certificate and its cloudlet's credential. All certificates of the cloudlet end, and the controller cuts
    the agent's session."""
    with Client() as api:
        answer = api.post(path("certificates", serial, "revoke"))
        name = answer["cloudlet"]
        again = f"`weft cloudlet token {name}` makes a token to enrol with again"
        done(answer, f"the certificates and the credential of {name} are revoked; {again}")


@app.verb("authority", "weft certificate authority > chain.pem\nweft certificate authority --crl > crl.pem")
def authority(crl: Annotated[bool, typer.Option("--crl", help="Print the revocation list instead.")] = False) -> None:
    """Print the intermediate and the root, which verify certificates."""
    with Client() as api:
        answer: dict[str, Any] = api.get(path("authority"))
    if session.documents:
        emit(answer)
    else:
        say(str(answer["crl" if crl else "chain"]).strip())
