"""Drift of the policy: the difference between the region and the state that the policy in force wants."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.changes.drift_watch import Drifted, DriftWatch
from controller.changes.flow import Changes
from controller.changes.policies import InForce, measured, medians
from controller.core.membership import settled
from controller.core.plans import Plan, plan
from controller.core.promises import Region as Proof
from controller.core.promises import run
from controller.core.yaml_document.errors import DocumentError
from controller.db import events
from controller.db.engine import Database
from controller.runtime.metrics import Metrics
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Found:
    """The steps that applying the policy in force anew would take, and the tests of the policy that fail."""

    in_force: InForce = field(default_factory=InForce)
    plan: Plan = field(default_factory=Plan)
    failing: tuple[DocumentError, ...] = ()

    @property
    def counts(self) -> "DriftCounts":
        """The numbers that other replicas are told."""
        return DriftCounts(self.moves, len(self.failing) + len(self.in_force.trouble))

    @property
    def moves(self) -> int:
        """The number of steps of the plan."""
        return self.plan.moves

    @property
    def well(self) -> bool:
        """Whether the policy in force is the latest, and its tests hold."""
        return not self.failing and not self.in_force.trouble


@dataclass(frozen=True)
class DriftCounts:
    """The number of steps that applying the policy in force anew would take, and of its errors and failing tests."""

    steps: int
    failing: int


class Drift:
    """Compares the region with the policy in force, and keeps the last result. `tell` tells the other replicas of the
    leader's looks."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        metrics: Metrics,
        wakeup: Wakeup,
        tell: Callable[[DriftCounts], None],
    ) -> None:
        self._database, self._changes, self._metrics, self._tell = database, changes, metrics, tell
        self._watch = DriftWatch(database, changes, wakeup, "policy", self._drifted)
        self.found = Found()

    async def look(self) -> Found:
        """Compare the region with the policy in force, set the metrics and return the result."""
        intent = self._changes.intent
        async with self._database.read() as session:
            in_force = await self._changes.policies.load(session)
            known = await medians(session, intent.policy)
            told = await measured(session, in_force.rules)
        found = plan(intent, await asyncio.to_thread(settled, intent, known))
        failing: tuple[DocumentError, ...] = ()
        if in_force.policy and in_force.policy.rules.tests:
            results = await asyncio.to_thread(run, in_force.policy, Proof(intent, told))
            failing = tuple(result.said for result in results if result.refuses)
        self.found = Found(in_force, found, failing)
        self._metrics.policy_drift.set(self.found.moves)
        self._metrics.policy_failing.set(self.found.counts.failing)
        return self.found

    async def boot(self) -> None:
        """Look when the controller starts. Errors of the policy in force are logged and recorded as an event; the
        policy stays in use."""
        try:
            found = await self.look()
        except Exception:  # a failed look must not keep the controller from starting
            log.exception("the policy in force")
            return
        if found.well:
            return
        wrong = [*found.in_force.trouble, *found.failing]
        for error in wrong:
            log.error("the policy in force: %s", error)
        revision = found.in_force.row.id if found.in_force.row else 0
        text = f"revision {revision} is in force all the same: {wrong[0]}"
        async with self._database.write() as session:
            await events.add(
                session, "policy-trouble", wrong[0].file, text, errors=[str(error) for error in wrong[:20]]
            )

    async def watch(self) -> None:
        """Look after every change, until cancelled. Only the leader does this."""
        await self._watch.run()

    async def _drifted(self) -> Drifted:
        found = await self.look()
        self._tell(found.counts)
        return Drifted(found.in_force.row.id if found.in_force.row else 0, found.moves)
