"""Alterations of devices: the identities in DHCP of a device and of its VM."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from sqlalchemy.exc import IntegrityError

from controller.api import etags
from controller.api.access import Operator, Running
from controller.api.changes import OnlyShow
from controller.api.devices import Device, described
from controller.api.etags import ETAG, IfMatch
from controller.api.merge_patch import Fixed, MergePatch
from controller.api.openapi import errors
from controller.api.types import ClientId, Mac, NamePath
from controller.core.dhcp_identity import DhcpIdentity, Identities
from controller.core.refusals import conflict
from controller.db import devices as table
from controller.db import sightings
from controller.db.rehearsals import transaction
from controller.leases.devices import alter, present

router = APIRouter(prefix="/api/v1/devices", tags=["devices"], dependencies=[Operator])

EXAMPLE: JsonDict = {"mac": "02:00:5e:00:00:03", "vm": {"client_id": None, "mac": "02:00:5e:00:00:04"}}


class DhcpClientAlteration(MergePatch):
    """New identities of a device's VM (RFC 7396); null removes one."""

    mac: Mac | None = None
    client_id: ClientId | None = None


class DeviceAlteration(MergePatch):
    """New identities of a device and of its VM (RFC 7396): one that is absent stays, and null removes it; `vm` null
    removes both of the VM's. The device keeps its pairs of addresses."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    mac: Mac | None = None
    client_id: ClientId | None = None
    vm: DhcpClientAlteration | None = None
    name: Annotated[None, Fixed("register the device under that name, and remove this one")] = None
    place: Annotated[None, Fixed("agents report where devices are")] = None


class AlteredDevice(Device):
    """A device after a change, and sentences about the leases that the change interrupts."""

    interrupted: list[str] = Field(default_factory=list)


@router.patch("/{name}", responses=errors(404, 409, 412) | {200: {"headers": ETAG}}, summary="Change a device")
async def change(
    name: NamePath,
    body: DeviceAlteration,
    region: Running,
    response: Response,
    dry_run: OnlyShow = False,
    if_match: IfMatch = None,
) -> AlteredDevice:
    """Change the identities of a device, or of its VM while no VM is registered for it. A device that came without
    registration is registered by that. Its leases stay with the former identity until they end."""
    try:
        async with transaction(region.database, dry_run=dry_run) as session:
            row, before = await present(session, name, lambda row: etags.check(row, if_match))
            interrupted = await alter(session, row, before, _after(before, body))
            clients = await table.clients(session, [name])
            places = await sightings.places(session, [name])
    except IntegrityError as error:
        raise conflict("another device has this MAC or client id") from error
    if not dry_run:
        region.runtime.wakeup.ring()
    response.headers["ETag"] = etags.etag(row)
    return AlteredDevice(**described(row, clients, places), interrupted=interrupted)


def _after(before: Identities, body: DeviceAlteration) -> Identities:
    vm = before.vm
    if "vm" in body.model_fields_set:
        vm = _merged(before.vm or DhcpIdentity(), body.vm) if body.vm is not None else None
    return Identities(_merged(before.md, body), vm if vm is not None and vm.known else None)


def _merged(present: DhcpIdentity, patch: DeviceAlteration | DhcpClientAlteration) -> DhcpIdentity:
    given = patch.model_fields_set
    return DhcpIdentity(
        patch.mac if "mac" in given else present.mac,
        patch.client_id if "client_id" in given else present.client_id,
    )
