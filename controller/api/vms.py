"""VMs: the machines that serve devices, and their places."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict
from sqlalchemy.ext.asyncio import AsyncSession

from controller.api import etags, pages
from controller.api.access import Operator, Running
from controller.api.changes import OnlyShow
from controller.api.etags import ETAG, IfMatch
from controller.api.merge_patch import Fixed, merged
from controller.api.names import CloudletFilter, DeviceFilter, EndpointFilter
from controller.api.openapi import errors
from controller.api.pages import Page
from controller.api.types import Body, Mac, Name, NamePath
from controller.core import fixed, machines
from controller.core.cpu_choice import BY_POLICY
from controller.core.refusals import invalid
from controller.db import names
from controller.db import vms as table
from controller.db.rehearsals import transaction
from controller.db.vms import VmRow
from controller.migration.vms import Check, alter_vm
from controller.region import Region
from controller.wire.initiations import CHECK_PATTERN, PROGRAM_PATTERN, Initiation
from controller.wire.initiations import MOST as MOST_ANEW
from controller.wire.machines import CPU_PATTERN, MEMORY, MOST_CPU, MOST_VCPUS, Condition, Disk, Machine, Nic, client_id

router = APIRouter(prefix="/api/v1/vms", tags=["vms"], dependencies=[Operator])

Memory = Annotated[int, MEMORY]
Cpus = Annotated[int, Field(ge=1, le=MOST_VCPUS)]
Cpu = Annotated[str, Field(pattern=CPU_PATTERN, max_length=MOST_CPU)]
Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,63}$")]
Value = Annotated[str, Field(max_length=400, pattern=r"^[^\x00-\x1f\x7f]*$")]
ServiceCheck = Annotated[str, Field(pattern=CHECK_PATTERN, max_length=MOST_ANEW)]
Program = Annotated[str, Field(pattern=PROGRAM_PATTERN, max_length=MOST_ANEW)]
Known = Literal[Condition, "starting", "stopping"]
MOST_OPTIONS = 32
EXAMPLE: JsonDict = {
    "name": "web",
    "device": "m1",
    "endpoint": "c1-lan",
    "driver": "qemu",
    "image": "debian",
    "memory": 536870912,
    "disk": {"base": "debian", "bytes": 2147483648},
}


class NewVm(Body):
    """A machine for a device, at an endpoint. `image` and the disk's `base` are names for which every cloudlet's driver
    has the same files; without `macs`, its vNICs get MACs made from its name. `cpu` is `policy` (the policy's
    `migration.cpu`), `baseline` (the newest model that all cloudlets to which it may move can give), `host` or `max`
    (its driver's own), or a model, such as `EPYC-Rome`. `options` are the driver's own. Where the VM starts anew
    (`migration.on_verdict` of the policy), `check` tells whether its service answers (`tcp:PORT`, `http:PORT/PATH`),
    and then `handover`, a program in it, brings its state: its arguments are the old machine's address and its own."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Name
    device: Name
    endpoint: Name
    driver: Name
    image: Name
    memory: Memory
    vcpus: Cpus = 1
    cpu: Cpu = BY_POLICY
    macs: Annotated[list[Mac], Field(min_length=2, max_length=2)] | None = None
    disk: Disk | None = None
    options: Annotated[dict[Key, Value], Field(max_length=MOST_OPTIONS)] = Field(default_factory=dict)
    check: ServiceCheck | None = None
    handover: Program | None = None


class VmAlteration(Body):
    """New values of a VM. A value that is not given, or null, stays. Options are merged with the present ones; null
    removes one. With `cpu` the settled model is forgotten, and the next start settles another. An empty `check` or
    `handover` removes it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"memory": 1073741824, "cpu": "baseline", "options": {"cmdline": None}}]}
    )

    memory: Memory | None = None
    vcpus: Cpus | None = None
    cpu: Cpu | None = None
    options: Annotated[dict[Key, Value | None], Field(max_length=2 * MOST_OPTIONS)] = Field(default_factory=dict)
    check: ServiceCheck | None = None
    handover: Program | None = None
    name: Annotated[None, Fixed("remove the VM, and add one of that name")] = None
    device: Annotated[None, Fixed(fixed.OF_VMS["device"])] = None
    endpoint: Annotated[None, Fixed("start a move (POST /api/v1/moves)")] = None
    driver: Annotated[None, Fixed(fixed.OF_VMS["driver"])] = None
    image: Annotated[None, Fixed(fixed.OF_VMS["image"])] = None
    macs: Annotated[None, Fixed(fixed.OF_VMS["macs"])] = None
    disk: Annotated[None, Fixed(fixed.OF_VMS["disk"])] = None


class Vm(BaseModel):
    """A VM. `condition` is the driver's report at `seen_at`; it is `starting` until the driver reports that the VM
    runs, or `stopping` until it has stopped. `serving` is the vNIC that has `address`, `move` the move that is under
    way. `ended` says why a VM that nobody stopped no longer runs: its guest has shut down or panicked, or its
    hypervisor has ended. `cpu` is the choice of its CPU, and `cpu_settled` the model that its start settled; later
    starts and moves use the same. Null: it has its driver's own CPU, or was not started yet. `memory_used` is in bytes
    and `dirty_rate` in bytes a second, as last measured."""

    name: str
    device: str
    cloudlet: str
    endpoint: str
    driver: str
    image: str
    memory: int
    vcpus: int
    cpu: str
    cpu_settled: str | None
    macs: list[str]
    client_id: str
    disk: Disk | None
    options: dict[str, str]
    check: str | None
    handover: str | None
    condition: Known
    ended: str | None
    serving: Nic
    address: str | None
    move: str | None
    memory_used: int | None
    dirty_rate: float | None
    seen_at: datetime | None
    created_at: datetime


@router.post("", status_code=201, responses=errors(409) | {201: {"headers": ETAG}}, summary="Add a VM")
async def create(body: NewVm, region: Running, response: Response) -> Vm:
    """Add a VM. It runs only once it is started. Either of its vNICs that asks DHCP with its client id gets the odd
    address above the device's, at every endpoint."""
    macs = body.macs or [machines.mac(body.name, "a"), machines.mac(body.name, "b")]
    anew = _anew(check=body.check or None, handover=body.handover or None)
    made = body.model_dump(exclude={"device", "endpoint", "macs", "cpu", "check", "handover"})
    machine = Machine(**made, macs=(macs[0], macs[1]))
    await region.migration.vms.add(machine, body.device, body.endpoint, body.cpu, anew)
    return await show(body.name, region, response)


@router.get("", responses=errors(), summary="List VMs")
async def index(
    region: Running,
    cloudlet: CloudletFilter = None,
    endpoint: EndpointFilter = None,
    device: DeviceFilter = None,
    condition: Known | None = None,
    limit: pages.Limit = 100,
    cursor: pages.Cursor = None,
) -> Page[Vm]:
    """Return VMs, sorted by name."""
    async with region.database.read() as session:
        rows = await table.page(session, pages.after(cursor), limit + 1, cloudlet, endpoint, device, condition)
        moves = await table.moves(session, [row.name for row in rows])
    rows = [row for row in rows if row.endpoint in region.intent.endpoints]
    return pages.page(rows, limit, lambda row: row.name, lambda row: _shown(row, region, moves))


@router.get("/{name}", responses=errors(404) | {200: {"headers": ETAG}}, summary="Show a VM")
async def show(name: NamePath, region: Running, response: Response) -> Vm:
    """Return a VM with the move that is under way, if any."""
    async with region.database.read() as session:
        row = await _row(session, name, region)
        moves = await table.moves(session, [name])
    response.headers["ETag"] = etags.etag(row)
    return _shown(row, region, moves)


@router.patch("/{name}", responses=errors(404, 409, 412) | {200: {"headers": ETAG}}, summary="Change a VM")
async def change(
    name: NamePath,
    body: VmAlteration,
    region: Running,
    response: Response,
    dry_run: OnlyShow = False,
    if_match: IfMatch = None,
) -> Vm:
    """Change a VM that does not run. A running one may move, and the destination must prepare the same machine."""
    given = body.model_dump(include={"memory", "vcpus"}, exclude_none=True)
    anew = body.model_dump(include={"check", "handover"}, exclude_none=True)

    def amend(machine: Machine) -> Machine:
        options = merged(machine.options, body.options)
        if len(options) > MOST_OPTIONS:
            raise invalid("options", f"{name} would have {len(options)} options; {MOST_OPTIONS} are allowed")
        return machine.model_copy(update={**given, "options": options})

    def renew(initiation: Initiation) -> Initiation:
        return _anew(**(initiation.model_dump() | {key: value or None for key, value in anew.items()}))

    change = _unchanged(if_match), amend, body.cpu, renew if anew else None
    if not dry_run:
        await region.migration.vms.change(name, *change)
        return await show(name, region, response)
    async with transaction(region.database, dry_run=True) as session:
        row = await alter_vm(session, region.intent, name, *change)
    return _shown(row, region, {})


@router.post("/{name}/start", responses=errors(404, 409, 412) | {200: {"headers": ETAG}}, summary="Start a VM")
async def start(name: NamePath, region: Running, response: Response, if_match: IfMatch = None) -> Vm:
    """Start a VM. Its cloudlet's agent does so as soon as it can, and events report it. A running VM continues. Refused
    if the agent's reports show that the cloudlet cannot give the VM its CPU, or lacks its image or base."""
    await region.migration.vms.start(name, _unchanged(if_match))
    return await show(name, region, response)


@router.post("/{name}/stop", responses=errors(404, 409, 412) | {200: {"headers": ETAG}}, summary="Stop a VM")
async def stop(name: NamePath, region: Running, response: Response, if_match: IfMatch = None) -> Vm:
    """Stop a VM. Its cloudlet's agent shuts it down as soon as it can; its disk stays. A requested start is cancelled.
    A VM that does not run stays as it is, and one that is being moved cannot be stopped."""
    await region.migration.vms.stop(name, _unchanged(if_match))
    return await show(name, region, response)


@router.delete("/{name}", status_code=204, responses=errors(404, 409, 412), summary="Remove a VM")
async def remove(
    name: NamePath,
    region: Running,
    if_match: IfMatch = None,
    force: Annotated[bool, Query(description="Also one that runs: it runs on, and nobody knows of it.")] = False,
) -> None:
    """Remove a VM that does not run and is not being moved."""
    await region.migration.vms.remove(name, _unchanged(if_match), force=force)


def _unchanged(if_match: str | None) -> Check:
    return lambda row: etags.check(row, if_match)


def _anew(**values: str | None) -> Initiation:
    """Return how a VM starts anew. Raises Refused."""
    try:
        return Initiation.model_validate(values)
    except ValidationError as error:
        raise invalid("check", str(error.errors()[0]["msg"])) from None


async def _row(session: AsyncSession, name: str, region: Region) -> VmRow:
    row = await table.get(session, name)
    if row is None or row.endpoint not in region.intent.endpoints:
        raise await names.missing(session, "VM", name)
    return row


def _shown(row: VmRow, region: Region, moves: dict[str, str]) -> Vm:
    same = (
        "name",
        "device",
        "endpoint",
        "condition",
        "ended",
        "serving",
        "address",
        "cpu",
        "cpu_settled",
        "memory_used",
        "dirty_rate",
        "seen_at",
    )
    machine = row.made_of
    return Vm(
        **{name: getattr(row, name) for name in (*same, "created_at")},
        **machine.model_dump(exclude={"name", "macs", "cpu"}),
        **row.anew.model_dump(),
        macs=list(machine.macs),
        cloudlet=region.intent.endpoints[row.endpoint].cloudlet,
        client_id=client_id(row.name),
        move=moves.get(row.name),
    )
