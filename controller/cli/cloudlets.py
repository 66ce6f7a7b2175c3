"""`weft cloudlet`: edge sites and their enrolment."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli import defaults
from controller.cli.arguments import Cloudlet, ConfirmWithin, DryRun, NewName
from controller.cli.cells import Row, at, state
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.documents import emit
from controller.cli.failures import WrongUsage
from controller.cli.moves import print_evacuation
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows, when
from controller.cli.secret_file import To, secret_file, secret_lost, told
from controller.cli.session import session
from controller.wire.dialects import Dialect
from controller.wire.flavours import Flavour

app = Noun("cloudlet", "Edge sites: invite, enrol, drain, remove.")


def _agent(row: Row) -> object:
    return "none" if row.get("unmanaged") else state("agent", "connected")(row)


def _reach(row: Row) -> object:
    return None if row.get("reach_m") is None else f"{row['reach_m']:,.0f} m"


COLUMNS = [
    ("NAME", at("name")),
    ("PE", at("pe")),
    ("STATE", state("state")),
    ("VTEP", at("vtep")),
    ("ENDPOINTS", at("endpoints")),
    ("AGENT", _agent),
    ("SEEN", when("agent", "last_seen")),
    ("GENERATION", at("agent", "generation")),
]
DETAILS = [
    *COLUMNS[:5],
    ("LABELS", at("labels")),
    ("LATITUDE", at("latitude")),
    ("LONGITUDE", at("longitude")),
    ("NEAR WITHIN", _reach),
    ("UNMANAGED", state("unmanaged")),
    ("AS NUMBER", at("asn")),
    ("TTL SECURITY", at("ttl_security")),
    ("AGENT CONNECTED", state("agent", "connected")),
    ("AGENT SEEN", when("agent", "last_seen")),
    ("AGENT VERSION", at("agent", "version")),
    ("AGENT GENERATION", at("agent", "generation")),
    ("SESSIONS", at("sessions")),
]


@app.verb("list", "weft cloudlet list\nweft cloudlet list --output json")
def list_() -> None:
    """List cloudlets, with the state of each and of its agent."""
    with Client() as api:
        rows(api.items(path("cloudlets")), COLUMNS, "no cloudlets yet: `weft cloudlet add` invites one")


@app.verb("show", "weft cloudlet show c1")
def show(name: Cloudlet) -> None:
    """Show one cloudlet in full."""
    with Client() as api:
        card(api.get(path("cloudlets", name)), DETAILS)


@app.verb(
    "add",
    "weft cloudlet add c1 --vtep 198.51.100.1\nweft cloudlet add c2 --vtep 198.51.100.2 --pe evpn --approval\n"
    "weft cloudlet add r1 --vtep 198.51.100.3 --pe evpn --unmanaged --asn 64900",
)
def add(
    name: NewName,
    vtep: Annotated[str, typer.Option(help="Address of its tunnels and BGP sessions.")],
    pe: Annotated[Flavour, typer.Option(help="The kind of PE there.")] = Flavour.VPLS,
    unmanaged: Annotated[bool, typer.Option("--unmanaged", help="Its PE has no agent; you configure it.")] = False,
    asn: Annotated[int | None, typer.Option(help="AS number of an unmanaged PE. [default: the region's]")] = None,
    ttl_security: Annotated[int | None, typer.Option(help="Greatest distance in hops of an unmanaged PE.")] = None,
    approval: Annotated[
        bool, typer.Option("--approval", help="Wait for `weft cloudlet approve` after enrolment.")
    ] = False,
    token_seconds: Annotated[int, typer.Option(help="Seconds until the token expires.")] = 3600,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="May be given more than once.")] = None,
    latitude: Annotated[float | None, typer.Option(help="Degrees north.")] = None,
    longitude: Annotated[float | None, typer.Option(help="Degrees east.")] = None,
    to: To = None,
) -> None:
    """Invite a cloudlet. Shows the one-time token that its agent enrols with, or writes it to a file. An unmanaged one
    has no agent: `weft cloudlet config` prints what its PE needs."""
    if unmanaged and to is not None:
        raise WrongUsage("--to: an unmanaged cloudlet has no token")
    labels = dict(_label(text) for text in label or [])
    body: dict[str, Any] = {"name": name, "pe": pe, "vtep": vtep, "approval": approval, "token_seconds": token_seconds}
    body |= {"labels": labels, "latitude": latitude, "longitude": longitude}
    body |= {"unmanaged": unmanaged or None, "asn": asn, "ttl_security": ttl_security}
    with secret_file(to) as write, Client() as api:
        answer = api.post(path("cloudlets"), {k: v for k, v in body.items() if v is not None})
        if unmanaged:
            done(answer, f"{name} is added, and takes part; `weft cloudlet config {name}` prints what its PE needs")
        else:
            write(told(answer, "token", _another(name)))
            _token(name, answer, "invited", to)


@app.verb("config", "weft cloudlet config r1\nweft cloudlet config r1 --for junos")
def config(
    name: Cloudlet, dialect: Annotated[Dialect, typer.Option("--for", help="Whose words.")] = Dialect.FRR
) -> None:
    """Print the configuration of a PE without an agent: its BGP sessions and its endpoints."""
    with Client() as api:
        answer = api.get(path("cloudlets", name, "configuration"), **{"for": dialect})
    if session.documents:
        emit(answer)
    else:
        sys.stdout.write(answer["text"])


@app.verb(
    "set",
    "weft cloudlet set c1 --label city=turin --label tier-\nweft cloudlet set c1 --at 45.07,7.69\n"
    "weft cloudlet set c1 --vtep 198.51.100.9 --dry-run\nweft cloudlet set r1 --asn 64901 --confirm-within 300",
)
def set_(
    name: Cloudlet,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE|KEY-", help="Set a label, or remove it with KEY-.")
    ] = None,
    place: Annotated[
        str | None, typer.Option("--at", metavar="LAT,LON", help="Degrees north and east; - for none.")
    ] = None,
    vtep: Annotated[str | None, typer.Option(help="Another address of its tunnels and BGP sessions.")] = None,
    asn: Annotated[
        str | None, typer.Option(metavar="NUMBER|-", help="AS number of an unmanaged PE; - for the region's.")
    ] = None,
    ttl_security: Annotated[
        str | None, typer.Option(metavar="HOPS|-", help="Greatest distance of an unmanaged PE; - for any.")
    ] = None,
    approval: Annotated[
        bool | None, typer.Option("--approval/--no-approval", help="Its agent's next enrolment waits for approval.")
    ] = None,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
) -> None:
    """Change a cloudlet. Shows for whom traffic is interrupted. The policy in force places its endpoints by its labels
    and its position."""
    body: dict[str, Any] = {"labels": dict(_label_or_none(text) for text in label)} if label else {}
    if place is not None:
        body |= dict(zip(("latitude", "longitude"), _place(place), strict=True))
    for option, value in {"asn": asn, "ttl_security": ttl_security}.items():
        if value is not None:
            body[option] = defaults.number(f"--{option.replace('_', '-')}", value)
    body |= {key: value for key, value in {"vtep": vtep, "approval": approval}.items() if value is not None}
    if not body:
        raise WrongUsage("nothing to set: --label, --at, --vtep, --asn, --ttl-security or --approval")
    with Client() as api:
        terms = {"dry_run": dry_run or None, "confirm_within": confirm_within}
        done = "described" if body.keys() <= {"labels", "latitude", "longitude"} else "changed"
        print_change(f"{name} is {done}", api.patch(path("cloudlets", name), body, **terms))


@app.verb("token", "weft cloudlet token c1\nweft cloudlet token c1 --to c1.token")
def token(name: Cloudlet, to: To = None) -> None:
    """Make a new one-time token; the one before can no longer be used."""
    with secret_file(to) as write, Client() as api:
        answer = api.post(path("cloudlets", name, "token"))
        write(told(answer, "token", _another(name)))
        _token(name, answer, "has a new token", to)


@app.verb("rekey", "weft cloudlet rekey c1\nweft cloudlet rekey c1 --off")
def rekey(
    name: Cloudlet,
    off: Annotated[bool, typer.Option("--off", help="End signing, before a return to an older agent.")] = False,
) -> None:
    """Sign the BGP sessions of its PE with another key, one route server after the other. Prints the keys for a PE
    without an agent, which has no session until you give it them."""
    with Client() as api:
        answer = api.post(path("cloudlets", name, "session-keys"), {"off": off})
        if api.repeated and not off and not answer["keys"] and api.get(path("cloudlets", name))["unmanaged"]:
            raise secret_lost(f"`weft cloudlet rekey {name}` makes other keys; until its PE has them it has no session")
    if off:
        done(answer, f"{name}: sessions are signed no more")
    elif not answer.get("keys"):
        done(answer, f"{name}: another key is on its way")
    else:
        keys = [f"  {server}  {key}" for server, key in answer["keys"].items()]
        done(
            answer,
            f"{name} has no session until its PE has these keys, by route server:",
            *keys,
            "They are not shown again.",
        )


@app.verb("approve", "weft cloudlet approve c1")
def approve(name: Cloudlet) -> None:
    """Make a cloudlet active: one that waits for approval, was drained, or has a PE without an agent."""
    with Client() as api:
        done(api.post(path("cloudlets", name, "approve")), f"{name} is approved")


@app.verb("drain", "weft cloudlet drain c1")
def drain(
    name: Cloudlet,
    dry_run: DryRun = False,
    force: Annotated[bool, typer.Option("--force", help="Drain even if VMs run there; they cannot leave.")] = False,
) -> None:
    """Remove all endpoints of a cloudlet from all pools, and keep them out. Its own LANs continue. Evacuate it first: a
    VM moves within a pool."""
    with Client() as api:
        answer = api.post(path("cloudlets", name, "drain"), dry_run=dry_run or None, force=force or None)
        print_change(f"{name} drains", answer)


@app.verb("evacuate", "weft cloudlet evacuate c1")
def evacuate(name: Cloudlet) -> None:
    """Move all VMs of a cloudlet to its neighbours, one move each. Drain the cloudlet after that. Each VM stays at its
    new place until its device settles at another one."""
    with Client() as api:
        print_evacuation(name, api.post(path("cloudlets", name, "evacuation")))


@app.verb("remove", "weft cloudlet remove c1")
def remove(name: Cloudlet, dry_run: DryRun = False) -> None:
    """Remove a cloudlet with its endpoints, none of them in a pool. Its credential ends."""
    with Client() as api:
        print_change(f"{name} is removed", api.delete(path("cloudlets", name), dry_run=dry_run or None))


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise WrongUsage(f"--label {text!r}: a label is KEY=VALUE")
    return key, value


def _label_or_none(text: str) -> tuple[str, str | None]:
    return (text[:-1], None) if text.endswith("-") and "=" not in text and len(text) > 1 else _label(text)


def _place(text: str) -> tuple[float | None, float | None]:
    if text == "-":
        return None, None
    try:
        latitude, longitude = map(float, text.split(","))
    except ValueError:
        raise WrongUsage(f"--at {text!r}: a place is LATITUDE,LONGITUDE in degrees, such as 45.07,7.69") from None
    return latitude, longitude


def _another(name: str) -> str:
    return f"`weft cloudlet token {name}` makes another token"


def _token(name: str, answer: dict[str, Any], what: str, to: Path | None) -> None:
    expires = when("token_expires_at")(answer)
    if to is not None:
        del answer["token"]
        done(answer, f"{name} {what}; the token in {to} is good once, until it expires ({expires})")
        return
    done(
        answer,
        f"{name} {what}; it enrols with this token, once, until it expires ({expires}):",
        f"  {answer.get('token')}",
        "Put it into the file that `token_file` of the agent's configuration names. It is not shown again.",
    )
