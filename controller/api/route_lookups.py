"""Searches in the route tables: the routes that lead to an address, and all announcements of one route."""

import ipaddress
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, IPvAnyAddress, IPvAnyNetwork

from controller.api.access import Operator, Running
from controller.api.names import RouteServerFilter
from controller.api.openapi import errors
from controller.api.server_pages import ask
from controller.api.verbatim import DescribedAs, Json, continuing
from controller.core.intent import Intent
from controller.core.refusals import invalid
from controller.wire.route_lookups import RouteMatches
from controller.wire.route_paths import RoutePaths

router = APIRouter(prefix="/api/v1/routes", tags=["routes"], dependencies=[Operator])

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@continuing(RouteMatches)
class ServerRouteMatches(RouteMatches):
    """`route_server` has them."""

    route_server: str


class SurroundingLan(BaseModel):
    """An endpoint whose LAN prefix contains the address, by the intent, and its pools."""

    endpoint: str
    cloudlet: str
    prefix: str
    vcps: list[str]


class Lookup(BaseModel):
    """The routes to an address, one entry per route server that answered. `lans` are those that contain the address,
    also where routes have no addresses (VPLS); none for a MAC address."""

    route_servers: list[Annotated[Json, DescribedAs(ServerRouteMatches)]]
    unreachable: list[str]
    lans: list[SurroundingLan]


@continuing(RoutePaths)
class ServerRoutePaths(RoutePaths):
    """`route_server` has them."""

    route_server: str


class Paths(BaseModel):
    """The announcements of a route, one entry per route server that answered."""

    route_servers: list[Annotated[Json, DescribedAs(ServerRoutePaths)]]
    unreachable: list[str]


@router.get("/lookup", responses=errors(502), summary="Find the routes to an address")
async def lookup(
    region: Running,
    address: IPvAnyAddress | None = None,
    prefix: IPvAnyNetwork | None = None,
    mac: Annotated[str | None, Query(pattern=r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")] = None,
    route_server: RouteServerFilter = None,
) -> Lookup:
    """Return the longest matches for an address, or for a whole prefix, in each pool and over all families with
    addresses: EVPN types 2 and 5, VPN-IPv4 and VPN-IPv6. For a MAC address, return all EVPN routes of type 2 with it.
    Routes in quarantine are among them, with their reason. Give one of `address`, `prefix` and `mac`."""
    given = {"address": address, "prefix": prefix, "mac": mac}
    query = {name: str(value) for name, value in given.items() if value is not None}
    if len(query) != 1:
        raise invalid("address", "give one of address, prefix and mac")
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise invalid("address", "a link-local address with a zone is in no route")
    answers, unreachable = await ask(region, route_server, lambda client: client.lookup(query))
    servers = [{"route_server": name, **answer} for name, answer in answers]
    network = prefix if prefix is not None else ipaddress.ip_network(address) if address is not None else None
    return Lookup(route_servers=servers, unreachable=unreachable, lans=_lans(region.intent, network))


@router.get("/paths", responses=errors(502), summary="Show a route")
async def paths(
    region: Running,
    nlri: Annotated[str, Query(min_length=1, max_length=2000, description="As in `GET /api/v1/routes`, or its `key`.")],
    route_server: RouteServerFilter = None,
) -> Paths:
    """Return all announcements of a route with every attribute: by whom, accepted in which pools or in quarantine for
    which reason, and to whom it is sent in which form."""
    answers, unreachable = await ask(region, route_server, lambda client: client.paths(nlri))
    return Paths(route_servers=[{"route_server": name, **answer} for name, answer in answers], unreachable=unreachable)


def _lans(intent: Intent, network: Network | None) -> list[SurroundingLan]:
    """Return the LANs that contain a network."""
    if network is None:
        return []
    if network.version == 4:
        near = [(intent.endpoints[name], intent.endpoints[name].prefix) for name in intent.lans.around(network[0])]
    else:
        near = [(one, one.prefix6) for one in intent.endpoints.values() if one.prefix6 is not None]
    return [
        SurroundingLan(
            endpoint=one.name, cloudlet=one.cloudlet, prefix=lan, vcps=sorted(intent.pools_of.get(one.name, ()))
        )
        for one, lan in sorted(near, key=lambda found: found[0].name)
        if network.subnet_of(ipaddress.ip_network(lan))  # type: ignore[arg-type]
    ]
