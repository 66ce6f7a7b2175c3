"""The doctor: checks whether intent, rule sets, Adj-RIB-Outs and kernels agree. Gathers the data;
`controller.core.doctor` compares it."""

import asyncio
from collections.abc import Callable
from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.changes import inventory_drift
from controller.changes.drift import Found
from controller.core.clock import now
from controller.core.desired import desired
from controller.core.destinations import within_reach
from controller.core.doctor import (
    Applied,
    Cloudlet,
    InForce,
    Receiver,
    Route,
    RouteServer,
    Settled,
    Vm,
    compare,
    compare_clones,
    compare_cpus,
    compare_inventory,
    compare_policy,
    compare_releases,
    compare_session_keys,
    compare_vms,
    compare_webhooks,
)
from controller.db import platforms, vms, webhooks
from controller.db import replicas as replicas_table
from controller.region import Region
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.routeservers.sync import RouteServerSync
from controller.wire.platforms import Platform

router = APIRouter(prefix="/api/v1/doctor", tags=["doctor"], dependencies=[Operator])

Reports = dict[str, dict[str, Platform]]

MOST = 100_000
"""Maximum routes of one table of a route server that are compared."""

PAGE = 10_000
"""Routes requested from a route server at once."""


class Difference(BaseModel):
    """One difference from the intent, its place, and a sentence about it. `kind` is one of those in
    `docs/reference/doctor.md`, and `remedy` says how to remove it."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    where: str
    subject: str
    expected: str
    found: str
    text: str
    remedy: str


class Compared(BaseModel):
    """The amount of compared data. `reports` counts the cloudlets whose kernels were compared."""

    generation: int
    route_servers: int
    adj_in: int
    adj_out: int
    quarantine: int
    cloudlets: int
    reports: int
    endpoints: int


class Diagnosis(BaseModel):
    """The result of a comparison; `ok` if there is no difference. `replica` is the controller that compared; `leader`
    the one that does the background work, null if none does at the moment. `unconsented` are endpoints held back until
    their tenants consent, and `unmanaged` cloudlets whose PE has no agent, so that only its sessions and routes are
    compared: both are no faults."""

    ok: bool
    replica: str
    leader: str | None
    checked: Compared
    differences: list[Difference]
    unconsented: list[str] = Field(default_factory=list)
    unmanaged: list[str] = Field(default_factory=list)


@router.get("", responses=errors(), summary="Compare everything")
async def diagnose(region: Running) -> Diagnosis:
    """Read everything from every route server, and compare it and the agents' last reports with the intent."""
    servers = list(await asyncio.gather(*(_observe(server) for server in region.route_servers.syncs)))
    rules = region.changes.flow.rules()
    cloudlets = await observed_cloudlets(region)
    differences = compare_policy(_policy(await region.changes.drift.look()))
    differences += compare_inventory(_inventory(await region.changes.inventory_drift.look()))
    differences += await asyncio.to_thread(compare, rules, servers, cloudlets)
    differences += compare_releases(await _releases(region), servers, cloudlets)
    differences += compare_session_keys(region.route_servers.session_keys.all(), servers)
    differences += compare_vms(await _vms(region))
    differences += compare_cpus(*await _cpus(region))
    differences += compare_clones(await region.leases.clones.found())
    differences += compare_webhooks(await _receivers(region), now())
    return Diagnosis(
        ok=not differences,
        replica=region.replication.replicas.name,
        leader=region.replication.replicas.leader,
        checked=Compared(
            generation=rules.generation,
            route_servers=len(servers),
            adj_in=sum(len(server.adj_in) for server in servers),
            adj_out=sum(len(server.adj_out) for server in servers),
            quarantine=sum(len(server.quarantine) for server in servers),
            cloudlets=len(cloudlets),
            reports=sum(cloudlet.report is not None for cloudlet in cloudlets),
            endpoints=len(rules.endpoints),
        ),
        differences=[Difference.model_validate(difference) for difference in differences],
        unconsented=sorted(name for name in region.intent.endpoints if region.intent.held(name)),
        unmanaged=sorted(name for name, cloudlet in region.intent.cloudlets.items() if cloudlet.unmanaged),
    )


async def _releases(region: Region) -> dict[str, str]:
    """Return the releases of the replicas that are alive, this one included, by name."""
    replicas = region.replication.replicas
    own = {replicas.name: replicas.release}
    if replicas.alone:
        return own
    async with region.database.read() as session:
        return {one.name: one.release for one in await replicas_table.all_of_them(session) if one.alive} | own


async def _vms(region: Region) -> list[Vm]:
    async with region.database.read() as session:
        rows = await vms.unwell(session)
    return [Vm(row.name, row.endpoint, row.condition, row.ended) for row in rows]


async def _cpus(region: Region) -> tuple[list[Settled], Callable[[str], frozenset[str]], Reports]:
    intent = region.intent
    async with region.database.read() as session:
        found = await vms.settled(session)
        drivers = {driver for _, driver, _ in found}
        reports = {driver: await platforms.reports(session, intent.cloudlets, driver) for driver in sorted(drivers)}
    lans = intent.endpoints
    groups = [Settled(lans[key[0]].cloudlet, *key, tuple(names)) for key, names in found.items() if key[0] in lans]
    return groups, partial(within_reach, intent), reports


async def _receivers(region: Region) -> list[Receiver]:
    async with region.database.read() as session:
        rows = await webhooks.load(session)
    return [
        Receiver(row.name, row.failing_since, row.error, row.paused_because if row.state == "paused" else None)
        for row in rows
    ]


def _policy(found: Found) -> InForce:
    wrong = [*found.in_force.trouble, *found.failing]
    return InForce(found.in_force.row.id if found.in_force.row else 0, found.plan, tuple(map(str, wrong)))


def _inventory(found: inventory_drift.Found) -> Applied:
    return Applied(found.last.row.id if found.last.row else 0, found.plan, tuple(map(str, found.last.trouble)))


async def observed_cloudlets(region: Region) -> list[Cloudlet]:
    """Return the cloudlets that should be working, each with its agent's last report."""
    intent, fabric, agent_presence = region.intent, region.fabric, region.replication.presence
    speak = [c for c in intent.cloudlets.values() if c.managed]
    reports = await agent_presence.reports([c.name for c in speak])
    return [Cloudlet(desired(intent, c, fabric), reports.get(c.name), agent_presence.connected(c.name)) for c in speak]


async def _observe(server: RouteServerSync) -> RouteServer:
    client = server.client
    try:
        (status, rules, barred), (adj_in, adj_out, quarantine) = await asyncio.gather(
            asyncio.gather(client.status(), client.rule_set(), _barred(client)),
            asyncio.gather(*(_table(client, table) for table in ("adj-in", "adj-out", "quarantine"))),
        )
    except (Unreachable, OtherGeneration, RefusedByRouteServer) as error:
        return RouteServer(server.name, None, error=str(error))
    sessions = {s["peer"]: str(s["state"]).lower() for s in status.get("sessions") or []}
    version = str(status.get("version") or "")
    return RouteServer(server.name, rules, sessions, adj_in, adj_out, quarantine, server.error, barred, version)


async def _barred(client: RouteServerClient) -> frozenset[tuple[str, str]]:
    """Return pairs of a recipient and an announcer; none from a release that holds nothing back."""
    try:
        found = await client.held({})
    except RefusedByRouteServer:
        return frozenset()
    return frozenset((source["peer"], source["announcer"]) for source in found.get("sources") or [])


async def _table(client: RouteServerClient, table: str) -> list[Route]:
    routes: list[Route] = []
    query = {"table": table, "limit": str(PAGE)}
    while True:
        found = await client.routes(query)
        routes += [Route.of(line) for line in found.get("routes") or []]
        if len(routes) > MOST or (found.get("truncated") and not found.get("next")):
            raise Unreachable(f"its {table} has more than {min(MOST, len(routes))} routes")
        if not found.get("next"):
            return routes
        query["cursor"] = str(found["next"])
