"""`weft endpoint`: the LANs of cloudlets and their attachment to the fabric."""

from typing import Annotated, Any

import typer

from controller.cli import defaults
from controller.cli.arguments import ConfirmWithin, DryRun, Endpoint, NewName, OfCloudlet
from controller.cli.cells import at, state
from controller.cli.changes import print_change
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.failures import WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows, when

app = Noun("endpoint", "LANs of cloudlets, with their prefix and site route target.")

COLUMNS = [
    ("NAME", at("name")),
    ("CLOUDLET", at("cloudlet")),
    ("FLAVOUR", at("flavour")),
    ("PREFIX", at("prefix")),
    ("GATEWAY", at("gateway")),
    ("PREFIX6", at("prefix6")),
    ("RT", at("rt")),
    ("TENANT", at("tenant")),
    ("CONSENT", state("consent", "state")),
    ("VCPS", at("vcps")),
]
DETAILS = [
    *COLUMNS,
    ("CONSENT BY", at("consent", "by")),
    ("CONSENT AT", when("consent", "at")),
    ("RD", at("rd")),
    ("GATEWAY6", at("gateway6")),
    ("INDEX", at("index")),
    ("SITE (VE ID)", at("site")),
    ("VNI", at("vni")),
    ("PORTS", at("ports")),
    ("VTEP", at("vtep")),
    ("MTU", at("mtu")),
    ("LEASE SECONDS", at("lease_seconds")),
    ("MAX ROUTES", at("max_routes")),
    ("PAIRS OF ADDRESSES", at("capacity")),
]


@app.verb("list", "weft endpoint list\nweft endpoint list --cloudlet c1")
def list_(cloudlet: OfCloudlet = None) -> None:
    """List endpoints."""
    with Client() as api:
        rows(api.items(path("endpoints"), cloudlet=cloudlet), COLUMNS, "no endpoints")


@app.verb("show", "weft endpoint show c1-lan")
def show(name: Endpoint) -> None:
    """Show one endpoint in full."""
    with Client() as api:
        card(api.get(path("endpoints", name)), DETAILS)


@app.verb("add", "weft endpoint add c1-lan --cloudlet c1 --prefix 10.1.0.0/24 --prefix6 2001:db8:1::/64 --port 'md*'")
def add(
    name: NewName,
    cloudlet: Annotated[str, typer.Option(help="The LAN's cloudlet.", autocompletion=names("cloudlets"))],
    prefix: Annotated[str, typer.Option(help="The LAN's addresses, in CIDR form, /29 or shorter.")],
    gateway: Annotated[
        str | None, typer.Option(help="The cloudlet's own address. [default: the prefix's first]")
    ] = None,
    prefix6: Annotated[
        str | None, typer.Option(help="IPv6 too, in CIDR form, /64 to /125. [default: IPv4 only]")
    ] = None,
    port: Annotated[
        list[str] | None, typer.Option(help="Interface, pattern, or VLAN of a trunk (eth1.100). Repeatable.")
    ] = None,
    vni: Annotated[int | None, typer.Option(help="EVPN only: the pool's VNI. [default: 10000]")] = None,
    mtu: Annotated[int | None, typer.Option(help="Bytes. [default: 1450]")] = None,
    lease_seconds: Annotated[int | None, typer.Option(help="Lease time of addresses. [default: 3600]")] = None,
    max_routes: Annotated[
        int | None, typer.Option(help="With more routes than this, all are in quarantine. [default: no limit]")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="The LAN's owner. [default: the operators]")] = None,
) -> None:
    """Attach a LAN of a cloudlet. Its site number and its route target never change."""
    body: dict[str, Any] = {
        "name": name,
        "cloudlet": cloudlet,
        "prefix": prefix,
        "gateway": gateway,
        "prefix6": prefix6,
    }
    body |= {"ports": port or [], "vni": vni, "mtu": mtu, "lease_seconds": lease_seconds, "max_routes": max_routes}
    body |= {"tenant": tenant}
    with Client() as api:
        answer = api.post(path("endpoints"), {k: v for k, v in body.items() if v is not None})
        said = [f"{name} is {answer.get('prefix')} at {cloudlet}, site route target {answer.get('rt')}"]
        if (answer.get("consent") or {}).get("state") == "waiting":
            said.append(f"it is held back until tenant {tenant} consents: weft consent give {name}")
        done(answer, *said)


@app.verb(
    "set",
    "weft endpoint set c1-lan --mtu 1400 --dry-run\nweft endpoint set c1-lan --port 'md*' --port 'vm*'\n"
    "weft endpoint set c1-lan --mtu 1400 --confirm-within 60\nweft endpoint set c1-lan --tenant - --max-routes 1000",
)
def set_(
    name: Endpoint,
    port: Annotated[
        list[str] | None, typer.Option(help="All interfaces and patterns, in place of the present ones; - for none.")
    ] = None,
    mtu: Annotated[str | None, typer.Option(metavar="BYTES|-", help="- for 1450.")] = None,
    lease_seconds: Annotated[
        str | None, typer.Option(metavar="SECONDS|-", help="Lease time of addresses; - for 3600.")
    ] = None,
    max_routes: Annotated[
        str | None, typer.Option(metavar="NUMBER|-", help="With more routes, all are in quarantine; - for no limit.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME|-", help="The LAN's owner; - for the operators.")] = None,
    vni: Annotated[str | None, typer.Option(metavar="NUMBER|-", help="EVPN only; - for 10000.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Other addresses, while nothing depends on the present.")] = None,
    prefix6: Annotated[str | None, typer.Option(metavar="PREFIX|-", help="IPv6, /64 to /125; - for IPv4 only.")] = None,
    dry_run: DryRun = False,
    confirm_within: ConfirmWithin = None,
) -> None:
    """Change an endpoint. Shows for whom traffic is interrupted. Its name, cloudlet and route target stay."""
    body: dict[str, Any] = {} if port is None else {"ports": defaults.texts("--port", port)}
    numbers = {"mtu": mtu, "lease_seconds": lease_seconds, "max_routes": max_routes, "vni": vni}
    for field, value in numbers.items():
        if value is not None:
            body[field] = defaults.number(f"--{field.replace('_', '-')}", value)
    for field, value in {"tenant": tenant, "prefix6": prefix6}.items():
        if value is not None:
            body[field] = defaults.text(value)
    if prefix is not None:
        body["prefix"] = prefix
    if not body:
        raise WrongUsage("nothing to set: --port, --mtu, --lease-seconds, --max-routes, --tenant, --vni or --prefix")
    with Client() as api:
        terms = {"dry_run": dry_run or None, "confirm_within": confirm_within}
        print_change(f"{name} is changed", api.patch(path("endpoints", name), body, **terms))


@app.verb("remove", "weft endpoint remove c1-lan")
def remove(name: Endpoint, dry_run: DryRun = False) -> None:
    """Detach a LAN. It leaves all pools, and its leases end."""
    with Client() as api:
        print_change(f"{name} is removed", api.delete(path("endpoints", name), dry_run=dry_run or None))
