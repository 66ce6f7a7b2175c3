"""`weft address`: how full LANs are, and DNS records of leases."""

import csv
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.arguments import Endpoint, OfEndpoint
from controller.cli.cells import Row, at, plain, prose
from controller.cli.client import Client, path
from controller.cli.failures import CheckFailed, Refused, WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows, when

app = Noun("address", "Use of each LAN's addresses, with a forecast; DNS records of leases.")


class Form(StrEnum):
    """Forms of DNS records, with the API's names."""

    ZONE = "zone"
    REVERSE = "reverse"
    HOSTS = "hosts"


def _filled(row: Row) -> object:
    usable = row["capacity"] - row["excluded"]
    return f"{100 * row['leased'] // usable} %" if usable else "full"


COLUMNS = [
    ("ENDPOINT", at("endpoint")),
    ("PREFIX", at("prefix")),
    ("PAIRS", at("capacity")),
    ("EXCLUDED", at("excluded")),
    ("LEASED", at("leased")),
    ("IN USE", _filled),
    ("LEFT", at("available")),
    ("FULL", when("full_at")),
    ("FORECAST", prose("forecast")),
]
DETAILS = [*COLUMNS, ("PEAKS", lambda row: [f"{peak['day']} {peak['leased']}" for peak in row["peaks"]])]


@app.verb("list", "weft address list")
def list_() -> None:
    """List how full each LAN is, in pairs, and when it will be full at the present trend."""
    with Client() as api:
        rows(api.items(path("addresses")), COLUMNS, "no endpoints")


@app.verb("show", "weft address show c1-lan")
def show(endpoint: Endpoint) -> None:
    """Show one LAN, with the most pairs that were leased at one time on each of the last days."""
    with Client() as api:
        card(api.get(path("addresses", endpoint)), DETAILS)


@app.verb(
    "dns",
    "weft address dns --origin weft.example > weft.zone\nweft address dns --form reverse --origin weft.example\n"
    "weft address dns --form hosts --endpoint c1-lan",
)
def dns(
    origin: Annotated[str, typer.Option(help="The domain above the names.")] = "weft.internal",
    form: Annotated[Form, typer.Option(help="Addresses by name, names by address, or as in /etc/hosts.")] = Form.ZONE,
    endpoint: OfEndpoint = None,
) -> None:
    """Print static hosts and leases as DNS records to be included in a zone. The names are HOST.ENDPOINT,
    DEVICE.ENDPOINT, and DEVICE-vm.ENDPOINT for the device's VM."""
    with Client() as api:
        for text in api.text(path("addresses", "dns"), origin=origin, form=form, endpoint=endpoint):
            sys.stdout.write(text)


STATICS = [
    ("NAME", at("name")),
    ("ADDRESS", at("address")),
    ("MAC", at("mac")),
    ("SINCE", when("added_at")),
    ("UNTIL", when("until")),
]
HEADER = ("address", "name", "mac")


@app.verb("import", "weft address import c1-lan printers.csv\nweft address import c1-lan - < printers.csv")
def import_(
    endpoint: Endpoint,
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV with the columns address, name and, if known, mac.")],
) -> None:
    """Take over hosts with static addresses, all or none. Their addresses and the other halves of their pairs are not
    leased."""
    hosts, lines = _read(file)
    with Client() as api:
        try:
            answer = api.post(path("addresses", endpoint, "statics"), {"hosts": hosts})
        except Refused as refused:
            raise _located(refused, file, lines) from None
    done(answer, f"{answer['added']} hosts of {endpoint} were taken over, {len(hosts) - answer['added']} were known")


def _read(file: str) -> tuple[list[Row], list[int]]:
    """Return the hosts, and the line of each. Raises WrongUsage and CheckFailed."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongUsage(f"{file}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise WrongUsage(f"{file}: {error.strerror}") from None
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True, restkey="more")
    columns = [str(name).strip().lower() for name in reader.fieldnames or ()]
    if not {"address", "name"} <= set(columns) <= set(HEADER):
        said = f"the first line names the columns: {', '.join(HEADER)}"
        raise CheckFailed(f"{file}:1: {said}; here it is {plain(','.join(columns))}")
    reader.fieldnames = columns
    hosts: list[Row] = []
    lines: list[int] = []
    for row in reader:
        if "more" in row or not row.get("address") or not row.get("name"):
            raise CheckFailed(f"{file}:{reader.line_num}: {len(columns)} values are wanted: {', '.join(columns)}")
        hosts.append({column: value.strip() for column, value in row.items() if value and value.strip()})
        lines.append(reader.line_num)
    if not hosts:
        raise CheckFailed(f"{file}: no hosts")
    return hosts, lines


def _located(refused: Refused, file: str, lines: list[int]) -> Refused:
    """Return the refusal with a line of the file for each host that it names."""
    said = []
    errors = refused.problem.get("errors")
    for error in errors if isinstance(errors, list) else []:
        parts = str(error.get("field")).split(".")
        of_host = parts[0] == "hosts" and len(parts) > 1 and parts[1].isdigit()
        place = f"{file}:{lines[int(parts[1])]}: " if of_host else ""
        said.append(f"{place}{plain(error.get('message'))}")
    return Refused(refused.problem, [*said, "nothing was taken over"]) if said else refused


@app.verb("statics", "weft address statics c1-lan")
def statics(endpoint: Endpoint) -> None:
    """List the static hosts of a LAN. Also lists addresses that clients found in use, until they are tried again."""
    with Client() as api:
        rows(api.items(path("addresses", endpoint, "statics")), STATICS, "no static hosts")


@app.verb("give-up", "weft address give-up c1-lan printer")
def give_up(endpoint: Endpoint, name: Annotated[str, typer.Argument(metavar="NAME", help="The host's name.")]) -> None:
    """Forget a static host. Its address can be leased again."""
    with Client() as api:
        done(
            api.delete(path("addresses", endpoint, "statics", name)), f"{name} of {endpoint} is no longer a static host"
        )
