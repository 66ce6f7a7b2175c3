"""Names that filter lists. An unknown name is refused, with a suggestion: an empty list would suggest that all is well.
Lists of the past also accept the names of removed objects, as long as they have entries about them."""

from collections.abc import Collection
from typing import Annotated

from fastapi import Depends, Query

from controller.api.access import Calling, Running
from controller.core.intent import Intent
from controller.core.refusals import unknown
from controller.core.roles import Caller, Role
from controller.db import names
from controller.db.names import Noun, Past
from controller.region import Region
from controller.wire.names import NAME_PATTERN

Given = Annotated[str | None, Query(pattern=NAME_PATTERN, max_length=63)]


async def _cloudlet(region: Running, calling: Calling, cloudlet: Given = None) -> str | None:
    return _intended("cloudlet", "cloudlet", cloudlet, region.intent.cloudlets, calling)


async def _neighbour(region: Running, calling: Calling, neighbour: Given = None) -> str | None:
    return _intended("neighbour", "cloudlet", neighbour, region.intent.cloudlets, calling)


async def _peer(region: Running, calling: Calling, peer: Given = None) -> str | None:
    return _intended("peer", "cloudlet", peer, region.intent.cloudlets, calling)


async def _endpoint(region: Running, calling: Calling, endpoint: Given = None) -> str | None:
    return _intended("endpoint", "endpoint", endpoint, region.intent.endpoints, calling)


async def _vcp(region: Running, calling: Calling, vcp: Given = None) -> str | None:
    return _intended("vcp", "VCP", vcp, region.intent.vcps, calling)


async def _route_server(region: Running, calling: Calling, route_server: Given = None) -> str | None:
    known = {server.name for server in region.route_servers.syncs}
    return _intended("route_server", "route server", route_server, known, calling)


async def _device(region: Running, calling: Calling, device: Given = None) -> str | None:
    if device is not None and _reserved(region.intent, device):
        return device
    return await _kept(region, calling, "device", "device", device)


async def _vm(region: Running, calling: Calling, vm: Given = None) -> str | None:
    return await _kept(region, calling, "vm", "VM", vm)


async def _image(region: Running, calling: Calling, image: Given = None) -> str | None:
    return await _kept(region, calling, "image", "image", image)


async def _past_vm(region: Running, calling: Calling, vm: Given = None) -> str | None:
    return vm if await _past(region, "VM", vm) else await _kept(region, calling, "vm", "VM", vm)


async def _past_move(region: Running, calling: Calling, move: Given = None) -> str | None:
    return move if await _past(region, "move", move) else await _kept(region, calling, "move", "move", move)


async def _past_cloudlet(region: Running, calling: Calling, cloudlet: Given = None) -> str | None:
    return cloudlet if await _past(region, "cloudlet", cloudlet) else await _cloudlet(region, calling, cloudlet)


CloudletFilter = Annotated[str | None, Depends(_cloudlet)]
NeighbourFilter = Annotated[str | None, Depends(_neighbour)]
PeerFilter = Annotated[str | None, Depends(_peer)]
EndpointFilter = Annotated[str | None, Depends(_endpoint)]
VcpFilter = Annotated[str | None, Depends(_vcp)]
RouteServerFilter = Annotated[str | None, Depends(_route_server)]
DeviceFilter = Annotated[str | None, Depends(_device)]
VmFilter = Annotated[str | None, Depends(_vm)]
ImageFilter = Annotated[str | None, Depends(_image)]
PastVmFilter = Annotated[str | None, Depends(_past_vm)]
PastMoveFilter = Annotated[str | None, Depends(_past_move)]
PastCloudletFilter = Annotated[str | None, Depends(_past_cloudlet)]


def _intended(field: str, noun: str, name: str | None, known: Collection[str], calling: Caller) -> str | None:
    """Return a known name, and raise Refused for an unknown one. A tenant's endpoints are checked before this call; for
    other names a tenant must not learn whether they exist."""
    if name is None or name in known or calling.role is Role.TENANT:
        return name
    raise unknown(field, noun, name, known)


async def _kept(region: Region, calling: Caller, field: str, noun: Noun, name: str | None) -> str | None:
    if name is None:
        return None
    tenant = calling.tenant if calling.role is Role.TENANT else None
    async with region.database.read() as session:
        if await names.there(session, noun, name, tenant):
            return name
        raise unknown(field, noun, name, await names.around(session, noun, name, tenant))


async def _past(region: Region, of: Past, name: str | None) -> bool:
    if name is None:
        return False
    async with region.database.read() as session:
        return await names.remembered(session, of, name)


def _reserved(intent: Intent, device: str) -> bool:
    """Return whether the policy reserves a pair for this device, even if the device is not registered."""
    return any(device in plan.reservations for plan in intent.policy.addresses.lans.values())
