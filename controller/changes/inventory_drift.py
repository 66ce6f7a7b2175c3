"""Drift of the inventory: the difference between the region's objects and those of the inventory that was applied
last."""

import asyncio
from dataclasses import dataclass, field

from controller.changes.drift_watch import Drifted, DriftWatch
from controller.changes.flow import Changes
from controller.changes.inventories import Inventories, LastApplied
from controller.core import inventories
from controller.core.inventories import InventoryPlan
from controller.db import holdings
from controller.db.engine import Database
from controller.runtime.metrics import Metrics
from controller.runtime.wakeup import Wakeup


@dataclass(frozen=True)
class Found:
    """The steps that applying the last inventory anew would take."""

    last: LastApplied = field(default_factory=LastApplied)
    plan: InventoryPlan = field(default_factory=InventoryPlan)


class InventoryDrift:
    """Compares the region with the inventory that was applied last, and keeps the last result."""

    def __init__(self, database: Database, changes: Changes, metrics: Metrics, wakeup: Wakeup) -> None:
        self._database, self._changes, self._metrics = database, changes, metrics
        self._watch = DriftWatch(database, changes, wakeup, "inventory", self._drifted)
        self.inventories, self.found = Inventories(), Found()

    async def look(self) -> Found:
        """Compare the region with the last inventory, set the metric and return the result."""
        async with self._database.read() as session:
            last = await self.inventories.load(session)
            held = await holdings.held(session, self._changes.intent) if last.inventory else {}
        plan = InventoryPlan()
        if last.inventory is not None:
            plan = await asyncio.to_thread(inventories.plan, last.inventory, held, last.names)
        self.found = Found(last, plan)
        self._metrics.inventory_drift.set(len(plan.steps))
        return self.found

    async def watch(self) -> None:
        """Look after every change, until cancelled. Only the leader does this."""
        await self._watch.run()

    async def _drifted(self) -> Drifted:
        found = await self.look()
        return Drifted(found.last.row.id if found.last.row else 0, len(found.plan.steps))
