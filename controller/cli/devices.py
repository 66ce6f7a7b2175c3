"""`weft device`: mobile devices and the VMs that serve them."""

from typing import Annotated, Any

import typer

from controller.cli import defaults
from controller.cli.arguments import Device, DryRun, NewName
from controller.cli.cells import at, plain
from controller.cli.client import Client, path
from controller.cli.failures import WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows
from controller.cli.sightings import PLACE

app = Noun("device", "Mobile devices, each with the VM that serves it.")

COLUMNS = [
    ("NAME", at("name")),
    ("MAC", at("mac")),
    ("CLIENT ID", at("client_id")),
    ("VM MAC", at("vm", "mac")),
    ("VM CLIENT ID", at("vm", "client_id")),
    ("REGISTERED", lambda row: not row.get("implicit")),
    ("AT", at("place", "endpoint")),
]


@app.verb("list", "weft device list")
def list_() -> None:
    """List all devices that are registered or were seen."""
    with Client() as api:
        rows(api.items(path("devices")), COLUMNS, "no devices")


@app.verb("add", "weft device add ana --mac 02:00:5e:00:00:01 --vm-mac 02:00:5e:00:00:02")
def add(
    name: NewName,
    mac: Annotated[str | None, typer.Option(help="The device's MAC address.")] = None,
    client_id: Annotated[str | None, typer.Option(help="Its DHCP client id (option 61), hex.")] = None,
    vm_mac: Annotated[str | None, typer.Option(help="The VM's MAC address.")] = None,
    vm_client_id: Annotated[str | None, typer.Option(help="The VM's DHCP client id, hex.")] = None,
) -> None:
    """Register a device and its VM. At every cloudlet the device gets an even address, and the VM the odd one above."""
    vm = {k: v for k, v in (("mac", vm_mac), ("client_id", vm_client_id)) if v is not None}
    body: dict[str, Any] = {"name": name, "mac": mac, "client_id": client_id, "vm": vm or None}
    with Client() as api:
        answer = api.post(path("devices"), {k: v for k, v in body.items() if v is not None})
        done(answer, f"{name} is registered" + (" with its VM" if vm else ""))


@app.verb(
    "set",
    "weft device set ana --mac 02:00:5e:00:00:03\nweft device set ana --vm-mac - --vm-client-id 01aabbcc --dry-run",
)
def set_(
    name: Device,
    mac: Annotated[str | None, typer.Option(metavar="MAC|-", help="The device's MAC address; - for none.")] = None,
    client_id: Annotated[str | None, typer.Option(metavar="HEX|-", help="Its DHCP client id; - for none.")] = None,
    vm_mac: Annotated[str | None, typer.Option(metavar="MAC|-", help="The VM's MAC address; - for none.")] = None,
    vm_client_id: Annotated[str | None, typer.Option(metavar="HEX|-", help="The VM's client id; - for none.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Change the identities of a device, or of its VM while no VM is registered. It keeps its pairs of addresses."""
    own, vm = {"mac": mac, "client_id": client_id}, {"mac": vm_mac, "client_id": vm_client_id}
    body: dict[str, Any] = {key: defaults.text(value) for key, value in own.items() if value is not None}
    if given := {key: defaults.text(value) for key, value in vm.items() if value is not None}:
        body["vm"] = given
    if not body:
        raise WrongUsage("nothing to set: --mac, --client-id, --vm-mac or --vm-client-id")
    with Client() as api:
        answer = api.patch(path("devices", name), body, dry_run=dry_run or None)
        lines = [plain(f"! {line}") for line in answer.get("interrupted") or []]
        done(answer, f"{name} would be changed; nothing is" if dry_run else f"{name} is changed", *lines)


@app.verb("remove", "weft device remove ana")
def remove(name: Device) -> None:
    """Forget a device that holds no lease."""
    with Client() as api:
        done(api.delete(path("devices", name)), f"{name} is removed")


@app.verb("where", "weft device where ana")
def where(name: Device) -> None:
    """Show a device's place, and where it was last seen."""
    with Client() as api:
        place = api.get(path("devices", name))["place"]
        if place is None:
            done(None, f"{name} was never seen")
        else:
            card({"device": name, **place}, [("DEVICE", at("device")), *PLACE])
