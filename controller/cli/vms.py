"""`weft vm`: the VMs that serve devices."""

from typing import Annotated, Any

import typer

from controller.cli.arguments import DryRun, NewName, OfCloudlet, OfEndpoint
from controller.cli.cells import Row, StateWord, Tone, at, toned
from controller.cli.client import Client, path
from controller.cli.completion import names
from controller.cli.failures import WrongUsage
from controller.cli.noun import Noun
from controller.cli.output import card, done, rows, when
from controller.cli.sizes import in_bytes, size

app = Noun("vm", "VMs: each works for one device, and follows it from cloudlet to cloudlet.")


def _condition(row: Row) -> object:
    """Return the condition as a cell. A VM that ended by itself looks different from one that was stopped."""
    said = toned(str(row.get("condition", "-")))
    return StateWord(f"{said}, by itself", Tone.ALARM) if row.get("ended") else said


COLUMNS = [
    ("NAME", at("name")),
    ("DEVICE", at("device")),
    ("CLOUDLET", at("cloudlet")),
    ("ENDPOINT", at("endpoint")),
    ("CONDITION", _condition),
    ("ADDRESS", at("address")),
    ("SERVING", at("serving")),
    ("MOVE", at("move")),
    ("SEEN", when("seen_at")),
]


def _disk(row: Row) -> str | None:
    disk = row.get("disk")
    return f"{size(disk['bytes'])}, differs from {disk['base']}" if disk else None


def _cpu(row: Row) -> str:
    """Return the VM's CPU model and the choice behind it."""
    choice, settled = row.get("cpu", "-"), row.get("cpu_settled")
    if settled is None or settled == choice:
        return str(choice)
    return f"{settled} ({'by policy' if choice == 'policy' else choice})"


def _rate(row: Row) -> str:
    rate = row.get("dirty_rate")
    return "-" if rate is None else f"{size(rate)}/s"


DETAILS = [
    *COLUMNS,
    ("ENDED", at("ended")),
    ("DRIVER", at("driver")),
    ("IMAGE", at("image")),
    ("MEMORY", lambda row: size(row.get("memory"))),
    ("MEMORY IN USE", lambda row: size(row.get("memory_used"))),
    ("DIRTY RATE", _rate),
    ("VCPUS", at("vcpus")),
    ("CPU", _cpu),
    ("DISK", _disk),
    ("MACS (A, B)", at("macs")),
    ("DHCP CLIENT ID", at("client_id")),
    ("OPTIONS", at("options")),
    ("CHECK", at("check")),
    ("HANDOVER", at("handover")),
    ("ADDED", when("created_at")),
]
Vm = Annotated[str, typer.Argument(metavar="VM", help="A VM's name.", autocompletion=names("vms"))]
Memory = Annotated[str, typer.Option(metavar="SIZE", help="Such as 512M or 4G.")]
CHECK = "How a new VM at another cloudlet is known to serve: tcp:PORT or http:PORT/PATH."
HANDOVER = "A program in the VM that brings its state when it starts anew elsewhere."
CPU = "policy, baseline (so that it can move), host (its driver's own), or a model, such as EPYC-Rome."


@app.verb("list", "weft vm list\nweft vm list --cloudlet c1 --condition running")
def list_(
    cloudlet: OfCloudlet = None,
    endpoint: OfEndpoint = None,
    device: Annotated[str | None, typer.Option(help="Only of this device.", autocompletion=names("devices"))] = None,
    condition: Annotated[str | None, typer.Option(help="Only VMs that are: running, stopped, gone, …")] = None,
) -> None:
    """List VMs, with the device, the place and the condition of each."""
    with Client() as api:
        found = api.items(path("vms"), cloudlet=cloudlet, endpoint=endpoint, device=device, condition=condition)
        rows(found, COLUMNS, "no VMs")


@app.verb("show", "weft vm show web")
def show(name: Vm) -> None:
    """Show one VM in full."""
    with Client() as api:
        card(api.get(path("vms", name)), DETAILS)


@app.verb(
    "add",
    "weft vm add web --device ana --endpoint c1-lan --image debian --memory 512M\n"
    "weft vm add web --device ana --endpoint c1-lan --image debian --memory 512M --disk debian:2G --start\n"
    "weft vm add web --device ana --endpoint c1-lan --image debian --memory 512M --cpu baseline",
)
def add(
    name: NewName,
    device: Annotated[str, typer.Option(help="The device that it serves.", autocompletion=names("devices"))],
    endpoint: Annotated[str, typer.Option(help="Its first endpoint.", autocompletion=names("endpoints"))],
    image: Annotated[str, typer.Option(help="Its boot image; every cloudlet's driver has it.")],
    memory: Memory,
    driver: Annotated[str, typer.Option(help="The hypervisor driver.")] = "qemu",
    vcpus: Annotated[int, typer.Option(min=1, max=255, help="Number of virtual CPUs.")] = 1,
    cpu: Annotated[str | None, typer.Option(metavar="MODEL", help=f"{CPU} [default: policy]")] = None,
    disk: Annotated[
        str | None,
        typer.Option(metavar="BASE:SIZE", help="A disk that begins as the shared image BASE. [default: none]"),
    ] = None,
    mac: Annotated[
        list[str] | None, typer.Option(help="MACs of vNICs a and b: give two. [default: made from the name]")
    ] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the driver.")] = None,
    check: Annotated[
        str | None, typer.Option(metavar="CHECK", help=f"{CHECK} [default: it runs and has its address]")
    ] = None,
    handover: Annotated[str | None, typer.Option(metavar="PATH", help=f"{HANDOVER} [default: none]")] = None,
    start: Annotated[bool, typer.Option("--start", help="Start it as well.")] = False,
) -> None:
    """Add a VM that serves a device. In DHCP it has its own client id, the same on both of its vNICs."""
    body: dict[str, Any] = {"name": name, "device": device, "endpoint": endpoint, "driver": driver, "image": image}
    body |= {"memory": in_bytes("--memory", memory), "vcpus": vcpus}
    body |= _given(cpu=cpu, check=check, handover=handover)
    body["options"] = dict(map(_option, option or []))
    if disk is not None:
        base, colon, length = disk.rpartition(":")
        if not colon:
            raise WrongUsage(f"--disk {disk!r}: a disk is BASE:SIZE, such as debian:2G")
        body["disk"] = {"base": base, "bytes": in_bytes("--disk", length)}
    if mac:
        if len(mac) != 2:
            raise WrongUsage("--mac: a VM has two vNICs, a and b: give it twice")
        body["macs"] = mac
    with Client() as api:
        answer = api.post(path("vms"), body)
        if start:
            answer = api.post(path("vms", name, "start"))
        done(answer, f"{name} works for {device}, at {endpoint}" + ("; it is starting" if start else ""))


@app.verb(
    "set",
    "weft vm set web --memory 1G\nweft vm set web --cpu baseline\nweft vm set web --option cmdline=quiet",
)
def set_(
    name: Vm,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Such as 512M or 4G.")] = None,
    vcpus: Annotated[int | None, typer.Option(min=1, max=255, help="Number of virtual CPUs.")] = None,
    cpu: Annotated[
        str | None, typer.Option(metavar="MODEL", help=f"{CPU} The VM's next start settles the choice.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE|KEY-", help="Set an option, or remove it with KEY-.")
    ] = None,
    check: Annotated[str | None, typer.Option(metavar="CHECK", help=f"{CHECK} '' removes it.")] = None,
    handover: Annotated[str | None, typer.Option(metavar="PATH", help=f"{HANDOVER} '' removes it.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Change a VM that does not run."""
    body: dict[str, Any] = _given(vcpus=vcpus, cpu=cpu, check=check, handover=handover)
    if memory is not None:
        body["memory"] = in_bytes("--memory", memory)
    if option:
        body["options"] = dict(map(_option_or_none, option))
    if not body:
        raise WrongUsage("nothing to set: --memory, --vcpus, --cpu, --option, --check or --handover")
    with Client() as api:
        answer = api.patch(path("vms", name), body, dry_run=dry_run or None)
        done(answer, f"{name} would be changed; nothing is" if dry_run else f"{name} is changed")


@app.verb("start", "weft vm start web")
def start(name: Vm) -> None:
    """Start a VM at its cloudlet. A running VM continues."""
    with Client() as api:
        answer = api.post(path("vms", name, "start"))
        done(answer, f"{name} is {answer.get('condition')} at {answer.get('endpoint')}")


@app.verb("stop", "weft vm stop web")
def stop(name: Vm) -> None:
    """Shut a VM down. Its disk stays. Also cancels a start that has not happened yet."""
    with Client() as api:
        answer = api.post(path("vms", name, "stop"))
        done(answer, f"{name} is {answer.get('condition')} at {answer.get('endpoint')}")


@app.verb("remove", "weft vm remove web")
def remove(
    name: Vm,
    force: Annotated[bool, typer.Option("--force", help="Remove a running one: it runs on, unattended.")] = False,
) -> None:
    """Forget a VM that does not run and is not being moved."""
    with Client() as api:
        done(api.delete(path("vms", name), force=force or None), f"{name} is removed")


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise WrongUsage(f"--option {text!r}: an option is KEY=VALUE")
    return key, value


def _option_or_none(text: str) -> tuple[str, str | None]:
    return (text[:-1], None) if text.endswith("-") and "=" not in text and len(text) > 1 else _option(text)
