"""The service for changes to the intent: it makes them, ends trials in time, and looks for drift from the policy and
the inventory in force."""

import asyncio
import hashlib
import logging
from functools import partial
from typing import ClassVar

from controller.agents.registry import Agents
from controller.changes.drift import Drift, DriftCounts
from controller.changes.flow import Changes
from controller.changes.inventory_drift import InventoryDrift
from controller.changes.trials import keep_time
from controller.changes.waiting import Waiting
from controller.core.desired import Fabric
from controller.core.intent import Intent
from controller.core.unavailable import Unavailable
from controller.replication.service import ReplicationService
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever

log = logging.getLogger(__name__)

FORM = "permits"
"""The form of rule sets. When it differs from the form before, a region gets a new generation."""

DRIFT = "drift"
"""The leader's message about the policy's drift: steps, and errors with failing tests."""


class ChangesService(Service):
    """`flow` holds the intent. `timeout`: seconds that a change waits for agents."""

    name: ClassVar[str] = "changes"

    def __init__(
        self, runtime: Runtime, registry: Agents, fabric: Fabric, timeout: float, replication: ReplicationService
    ) -> None:
        metrics = runtime.metrics
        waiting = Waiting(
            registry, timeout, runtime.stopping, replication.presence.connected, metrics.change_seconds.observe
        )
        replicas = replication.replicas
        self.flow = Changes(runtime.database, registry, fabric, waiting, runtime.wakeup, replicas)
        self.drift = Drift(runtime.database, self.flow, metrics, runtime.wakeup, self._tell_drift)
        self.inventory_drift = InventoryDrift(runtime.database, self.flow, metrics, runtime.wakeup)
        self._fabric, self._wakeup, self._replicas = fabric, runtime.wakeup, replicas
        self._elsewhere = asyncio.Event()
        self._drift_told: DriftCounts | None = None
        replicas.hear["intent"] = lambda who, words: self._elsewhere.set()
        replicas.hear[DRIFT] = lambda who, words: self._hear_drift(words)

    def intent(self) -> Intent:
        """Return the intent at the current generation."""
        return self.flow.intent

    @property
    def drift_counts(self) -> DriftCounts | None:
        """The policy's drift as the leader last saw it; None if this replica does not know yet."""
        return self.drift.found.counts if self._replicas.leadership.leading else self._drift_told

    async def start(self) -> None:
        """Read the intent. Raises Unavailable."""
        await self.flow.start(hashlib.sha256(f"{FORM} {self._fabric!r}".encode()).hexdigest())
        await self.drift.boot()

    async def run(self) -> None:
        """Take over the changes of other replicas. The leader also ends trials in time and looks for drift."""
        lead = self._replicas.leadership.lead
        await forever(
            self._follow,
            partial(lead, partial(keep_time, self.flow, self._wakeup)),
            partial(lead, self.drift.watch),
            partial(lead, self.inventory_drift.watch),
        )

    def _tell_drift(self, counts: DriftCounts) -> None:
        self._replicas.tell(DRIFT, [f"{counts.steps}/{counts.failing}"])

    def _hear_drift(self, words: list[str]) -> None:
        steps, failing = words[-1].split("/")
        self._drift_told = DriftCounts(int(steps), int(failing))

    async def _follow(self) -> None:
        while True:
            await self._elsewhere.wait()
            self._elsewhere.clear()
            try:
                await self.flow.refresh()
            except Unavailable as away:
                log.warning("what others have changed cannot be read yet: %s", away)
