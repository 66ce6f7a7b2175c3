"""The service for the region's agents: which are connected here, and their reports on neighbours and tunnels."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from controller.agents.images import Images
from controller.agents.impostors import Impostors
from controller.agents.neighbours import Neighbours
from controller.agents.probe_candidates import announce
from controller.agents.registry import Agents
from controller.agents.tunnels import Tunnels
from controller.core.intent import Intent
from controller.db import cloudlets
from controller.runtime.maintenance import Chore, sweep
from controller.runtime.runtime import Runtime
from controller.runtime.service import Leader, Service, forever


class AgentsService(Service):
    """`intent` returns the intent of the region as it is now."""

    name: ClassVar[str] = "agents"

    def __init__(self, registry: Agents, runtime: Runtime, intent: Callable[[], Intent], leader: Leader) -> None:
        database, event_log, metrics = runtime.database, runtime.event_log, runtime.metrics
        self.registry = registry
        self.neighbours = Neighbours(database, intent, event_log, metrics)
        self.tunnels = Tunnels(database, intent, event_log, metrics)
        self.impostors = Impostors(event_log)
        self.images = Images(database, intent, event_log)
        self._runtime, self._intent, self._leader = runtime, intent, leader

    async def run(self) -> None:
        """Write agents' reports, and tell agents which neighbours to probe. The leader looks for silent neighbours and
        missing tunnels."""
        supervising = partial(sweep, [Chore(self.neighbours.sweep), Chore(self.tunnels.sweep)])
        await forever(
            partial(self.neighbours.run, self._runtime.stopping),
            self.tunnels.run,
            partial(announce, self._intent, self.registry, self._runtime.wakeup),
            partial(sweep, [Chore(self._note_seen)]),
            partial(self._leader.lead, supervising),
        )

    async def close(self) -> None:
        """Write the reports that are not yet written."""
        await self.neighbours.flush()
        await self.tunnels.flush()
        await self._note_seen()

    async def _note_seen(self) -> None:
        """Write down when this replica's own agents were last heard of."""
        if seen := self.registry.take_seen():
            async with self._runtime.database.write() as session:
                await cloudlets.note_seen(session, seen)
