"""The doctor at work: gathers what `controller.core.doctor` compares."""

import asyncio

from controller.changes import inventory_drift
from controller.changes.drift import Found
from controller.changes.service import ChangesService
from controller.core.clock import now
from controller.core.desired import Fabric, desired
from controller.core.doctor import (
    Applied,
    Cloudlet,
    Difference,
    InForce,
    compare,
    compare_clones,
    compare_cpus,
    compare_inventory,
    compare_policy,
    compare_releases,
    compare_session_keys,
    compare_vms,
    compare_webhooks,
    few_of_each_kind,
)
from controller.db.engine import Database
from controller.diagnosis import route_servers, rows
from controller.diagnosis.verdict import Compared, Verdict
from controller.leases.clones import ClonedClients
from controller.replication.service import ReplicationService
from controller.routeservers.service import RouteServersService

MOST = 1000
"""Most differences of one kind in a verdict."""


class Doctor:
    """Compares the intent with everything that can be observed of the region."""

    def __init__(
        self,
        database: Database,
        fabric: Fabric,
        changes: ChangesService,
        replication: ReplicationService,
        servers: RouteServersService,
        clones: ClonedClients,
    ) -> None:
        self._database, self._fabric, self._changes = database, fabric, changes
        self._replication, self._servers, self._clones = replication, servers, clones

    async def examine(self) -> Verdict:
        """Read everything from every route server, and compare it and the agents' last reports with the intent."""
        replicas = self._replication.replicas
        servers = list(await asyncio.gather(*map(route_servers.read, self._servers.syncs)))
        rules, cloudlets = self._changes.flow.rules(), await self.cloudlets()
        differences = await self._drift()
        differences += await asyncio.to_thread(compare, rules, servers, cloudlets)
        differences += compare_releases(await rows.releases(self._database, replicas), servers, cloudlets)
        differences += compare_session_keys(self._servers.session_keys.all(), servers)
        differences += await self._machines()
        differences += compare_clones(await self._clones.found())
        differences += compare_webhooks(await rows.receivers(self._database), now())
        few, counts = few_of_each_kind(differences, MOST)
        intent = self._changes.intent()
        return Verdict(
            replica=replicas.name,
            leader=replicas.leader,
            checked=Compared.of(rules, servers, cloudlets),
            differences=few,
            counts=counts,
            unconsented=sorted(filter(intent.held, intent.endpoints)),
            uncompared=[told for server in servers for told in route_servers.uncompared(server)],
            unmanaged=sorted(name for name, cloudlet in intent.cloudlets.items() if cloudlet.unmanaged),
        )

    async def cloudlets(self) -> list[Cloudlet]:
        """Return the cloudlets that should be working, each with its agent's last report."""
        intent, presence = self._changes.intent(), self._replication.presence
        managed = [cloudlet for cloudlet in intent.cloudlets.values() if cloudlet.managed]
        reports = await presence.reports([one.name for one in managed])
        wanted = await asyncio.to_thread(lambda: [desired(intent, one, self._fabric) for one in managed])
        return [Cloudlet(one, reports.get(one.cloudlet), presence.connected(one.cloudlet)) for one in wanted]

    async def _drift(self) -> list[Difference]:
        policy = _policy(await self._changes.drift.look())
        inventory = _inventory(await self._changes.inventory_drift.look())
        return [*compare_policy(policy), *compare_inventory(inventory)]

    async def _machines(self) -> list[Difference]:
        unwell = await rows.unwell_vms(self._database)
        cpus = await rows.settled_cpus(self._database, self._changes.intent())
        return [*compare_vms(unwell), *compare_cpus(*cpus)]


def _policy(found: Found) -> InForce:
    wrong = [*found.in_force.trouble, *found.failing]
    return InForce(found.in_force.row.id if found.in_force.row else 0, found.plan, tuple(map(str, wrong)))


def _inventory(found: inventory_drift.Found) -> Applied:
    return Applied(found.last.row.id if found.last.row else 0, found.plan, tuple(map(str, found.last.trouble)))
