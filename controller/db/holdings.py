"""The objects that a region has, in the form in which an inventory declares them."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.inventory import Fields, Objects
from controller.core.inventory.kinds import CLOUDLETS, DEVICES, ENDPOINTS, VMS
from controller.core.inventory.sections import devices as section
from controller.db import devices
from controller.db.cloudlets import CloudletRow
from controller.db.devices import ClientRow, DeviceRow
from controller.db.vms import VmRow

_OF_CLOUDLETS = ("vtep", "unmanaged", "asn", "ttl_security", "latitude", "longitude")
_OF_ENDPOINTS = ("cloudlet", "prefix", "prefix6", "ports", "vni", "mtu", "lease_seconds", "max_routes", "tenant")
_OF_MACHINES = ("driver", "image", "memory", "vcpus", "options")


async def held(session: AsyncSession, intent: Intent) -> Objects:
    """Return the objects of the region. Devices that were not registered are left out."""
    approvals = set(await session.scalars(select(CloudletRow.name).where(CloudletRow.approval)))
    vms = list(await session.scalars(select(VmRow)))
    return {
        CLOUDLETS: {name: _cloudlet(one, name in approvals) for name, one in intent.cloudlets.items()},
        ENDPOINTS: {name: _endpoint(one) for name, one in intent.endpoints.items()},
        DEVICES: dict(_devices(await _registered(session), {vm.device: vm.name for vm in vms})),
        VMS: {vm.name: _vm(vm) for vm in vms},
    }


def _cloudlet(cloudlet: Cloudlet, approval: bool) -> Fields:
    return {
        "pe": str(cloudlet.pe),
        "approval": approval,
        "labels": dict(cloudlet.labels),
        **{field: getattr(cloudlet, field) for field in _OF_CLOUDLETS},
    }


def _endpoint(endpoint: Endpoint) -> Fields:
    return {field: getattr(endpoint, field) for field in _OF_ENDPOINTS}


async def _registered(session: AsyncSession) -> dict[str, dict[tuple[str, str], ClientRow]]:
    """Return the clients of each registered device, by device and kind."""
    query = select(DeviceRow.name, ClientRow).outerjoin(ClientRow, ClientRow.device == DeviceRow.name)
    found: dict[str, dict[tuple[str, str], ClientRow]] = {}
    for name, client in await session.execute(query.where(~DeviceRow.implicit)):
        clients = found.setdefault(name, {})
        if client is not None:
            clients[name, client.kind] = client
    return found


def _devices(found: dict[str, dict[tuple[str, str], ClientRow]], vms: dict[str, str]) -> Iterator[tuple[str, Fields]]:
    for name, clients in found.items():
        yield name, section.fields_of(devices.identities(name, clients, vms.get(name)))


def _vm(row: VmRow) -> Fields:
    machine, anew = row.made_of, row.anew
    values: dict[str, Any] = {field: getattr(machine, field) for field in _OF_MACHINES}
    values |= {"device": row.device, "endpoint": row.endpoint, "macs": tuple(machine.macs), "cpu": row.cpu}
    values |= {"check": anew.check, "handover": anew.handover}
    return values | {"disk": machine.disk.model_dump() if machine.disk is not None else None}
