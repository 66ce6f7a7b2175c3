"""The service for replication: this replica among those that serve the same database, and where agents are
connected."""

from typing import ClassVar

from controller.agents.registry import Agents
from controller.db.notify_connection import NotifyConnection
from controller.replication.agent_presence import AgentPresence
from controller.replication.leadership import Leadership
from controller.replication.probes import Probes
from controller.replication.replicas import Replicas
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever
from controller.settings import Settings
from controller.wire.release import release


class ReplicationService(Service):
    """`replicas` exchanges messages with the other replicas; `presence` knows the agents of all replicas, and `probes`
    asks them for probes."""

    name: ClassVar[str] = "replication"

    def __init__(self, settings: Settings, runtime: Runtime, registry: Agents) -> None:
        database = runtime.database
        line = NotifyConnection(settings.database_url, settings.replica) if database.shared else None
        self.replicas = Replicas(settings.replica, release(), database, line, runtime.wakeup)
        self.presence = AgentPresence(registry, self.replicas, database)
        self.probes = Probes(registry, self.replicas)

    @property
    def leadership(self) -> Leadership:
        """Whether this replica does the background work: `leading`, `lead(work)`."""
        return self.replicas.leadership

    async def run(self) -> None:
        """Keep the connection to the others, and write down which agents are connected here."""
        await forever(self.replicas.run, self.presence.run)
