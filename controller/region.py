"""The composition root: the services of a controller, put together (docs/contribute/decisions.md)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from controller.agents.registry import Agents
from controller.agents.service import AgentsService
from controller.auth import audit_context
from controller.auth.service import AuthService
from controller.changes.service import ChangesService
from controller.core.desired import Fabric
from controller.core.intent import Intent
from controller.db.engine import Database
from controller.diagnosis.service import DiagnosisService
from controller.identity.service import IdentityService
from controller.leases.service import LeasesService
from controller.migration.service import MigrationService
from controller.replication.service import ReplicationService
from controller.routeservers.service import RouteServersService
from controller.runtime.event_log import EventLog
from controller.runtime.records import RecordsService
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service
from controller.runtime.supervisor import Supervisor
from controller.runtime.wakeup import Wakeup
from controller.settings import Settings
from controller.webhooks.service import WebhooksService
from controller.wire.desired import Speaker


@dataclass(frozen=True)
class Region:
    """The parts that the API works with. `ended` has the reasons for which services have ended by themselves; the
    controller stops once there is one."""

    settings: Settings
    fabric: Fabric
    runtime: Runtime
    records: RecordsService
    auth: AuthService
    changes: ChangesService
    replication: ReplicationService
    agents: AgentsService
    identity: IdentityService
    leases: LeasesService
    migration: MigrationService
    route_servers: RouteServersService
    diagnosis: DiagnosisService
    webhooks: WebhooksService
    ended: list[str] = field(default_factory=list)

    @property
    def services(self) -> tuple[Service, ...]:
        """The services in the order in which they start: tables, intent, the other replicas, and the services that need
        them."""
        before = (self.records, self.auth, self.changes, self.replication)
        region = (self.agents, self.identity, self.leases, self.migration, self.route_servers)
        return (*before, *region, self.diagnosis, self.webhooks)

    @property
    def intent(self) -> Intent:
        """The intent at the current generation."""
        return self.changes.flow.intent

    @property
    def database(self) -> Database:
        """The database that all replicas share."""
        return self.runtime.database

    def stop(self) -> None:
        """End all streams and waits."""
        self.runtime.stopping.set()
        self.runtime.wakeup.ring_here()
        self.agents.registry.wake_all()

    def fail(self, reason: str) -> None:
        """Stop because a service has ended by itself, for `reason`."""
        self.ended.append(reason)
        self.stop()


def compose(settings: Settings) -> Region:
    """Return the region with all its parts; nothing runs yet. Raises BadSettings."""
    database, wakeup = Database(settings.database_url, audit_context.watch), Wakeup()
    runtime, registry, fabric = Runtime(database, wakeup, EventLog(database, wakeup)), Agents(), _fabric(settings)
    replication = ReplicationService(settings, runtime, registry)
    replicas, leadership = replication.replicas, replication.leadership
    changes = ChangesService(runtime, registry, fabric, settings.agent_timeout, replication)
    flow, intent = changes.flow, changes.intent
    identity = IdentityService(settings, runtime, registry, flow, replicas)
    tls = identity.caller.context if identity.caller is not None else None
    route_servers = RouteServersService(settings, runtime, registry, flow, intent, tls, replication)
    flow.route_servers = route_servers.syncs
    leases = LeasesService(runtime, intent, replicas)
    return Region(
        settings=settings,
        fabric=fabric,
        runtime=runtime,
        records=RecordsService(runtime, leadership),
        auth=AuthService(settings, runtime),
        changes=changes,
        replication=replication,
        agents=AgentsService(registry, runtime, intent, leadership),
        identity=identity,
        leases=leases,
        migration=MigrationService(runtime, registry, changes, leases, replicas),
        route_servers=route_servers,
        diagnosis=DiagnosisService(runtime, fabric, changes, replication, route_servers, leases),
        webhooks=WebhooksService(settings, runtime, leadership),
    )


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Region]:
    """Run a region for the time of the block. Raises BadSettings, UnknownRevision and Unavailable."""
    region = compose(settings)
    async with Supervisor(region.services, region.fail):
        try:
            yield region
        finally:
            region.stop()
            region.runtime.wakeup.ring()


def _fabric(settings: Settings) -> Fabric:
    speakers = (Speaker(name=s.name, address=s.address, asn=settings.asn) for s in settings.route_servers)
    return Fabric(settings.asn, tuple(sorted(speakers, key=lambda s: s.name)), settings.enrolled_only)
