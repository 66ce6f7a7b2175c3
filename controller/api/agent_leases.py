"""Leases that agents request on behalf of DHCP clients, and their exchanges about delegated ranges."""

import re

from fastapi import APIRouter

from controller.api.access import Agent, Running
from controller.api.openapi import errors
from controller.core.addresses import AddressPlan
from controller.core.intent import Cloudlet, Endpoint
from controller.core.names import printable
from controller.core.refusals import invalid
from controller.region import Region
from controller.wire.delegations import Exchange, Exchanged
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from controller.wire.names import CLIENT_ID_PATTERN, MAC_PATTERN

router = APIRouter(prefix="/api/v1/agent", tags=["agents"])


@router.post("/leases", responses=errors(404, 409), summary="Grant or renew a lease")
async def lease(body: LeaseRequest, region: Running, cloudlet: Agent) -> LeaseGrant:
    """Lease an address. The same client gets the same address. An unknown client becomes a device of its own."""
    endpoint = own_endpoint(region, cloudlet, body.endpoint)
    mac, client_id = _identity(body)
    hostname = printable(body.hostname or "", 255) or None
    held, fresh = await region.leases.leases.ask(endpoint.name, mac, client_id, hostname)
    if fresh:
        region.runtime.metrics.leases.inc()
    return LeaseGrant(
        address=held.address,
        prefix_length=AddressPlan.of(endpoint.prefix).network.prefixlen,
        gateway=endpoint.gateway,
        kind=held.kind,
        device=held.device,
        seconds=region.leases.leases.seconds(endpoint),
    )


@router.post("/leases/exchange", responses=errors(409), summary="Account for delegated ranges")
async def exchange(body: Exchange, region: Running, cloudlet: Agent) -> Exchanged:
    """Store the agent's changes, and return the blocks that it needs and the clients that it asks about; see
    `controller/wire/delegations.py`."""
    endpoint = own_endpoint(region, cloudlet, body.endpoint)
    answer, fresh = await region.leases.delegations.exchange(endpoint, body)
    region.runtime.metrics.leases.inc(fresh)
    return answer


@router.post("/leases/release", status_code=204, responses=errors(404), summary="Give a lease back")
async def release(body: LeaseRelease, region: Running, cloudlet: Agent) -> None:
    """End a lease. Nothing happens if the client does not hold the address."""
    endpoint = own_endpoint(region, cloudlet, body.endpoint)
    mac, client_id = _identity(body)
    await region.leases.leases.give_back(endpoint.name, printable(body.address, 45), mac, client_id)


def own_endpoint(region: Region, cloudlet: Cloudlet, name: str) -> Endpoint:
    """Return one of the cloudlet's endpoints. Raises Refused if it has none of that name."""
    endpoint = region.intent.endpoints.get(name)
    if endpoint is None or endpoint.cloudlet != cloudlet.name:
        raise invalid("endpoint", f"{cloudlet.name} has no endpoint {name!r}")
    return endpoint


def _identity(message: LeaseRequest | LeaseRelease) -> tuple[str, str | None]:
    """Return the client's MAC and client id in their stored form. Raises Refused."""
    mac, client_id = message.mac.lower(), message.client_id.lower() if message.client_id else None
    if not _fits(MAC_PATTERN, mac):
        raise invalid("mac", "not of the form 02:00:5e:00:00:01")
    if client_id is not None and not _fits(CLIENT_ID_PATTERN, client_id):
        raise invalid("client_id", "not 1 to 255 octets in hex")
    return mac, client_id


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None and not text.endswith("\n")
