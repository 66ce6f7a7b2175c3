"""Drift: what the region is against what the policy in force wants it to be, looked at after changes and now and then,
and told of when it begins and when it ends."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field

from controller.changes.flow import Changes
from controller.changes.policies import InForce, measured, medians
from controller.core.membership import settled
from controller.core.plans import Plan, plan
from controller.core.policy import PolicyError
from controller.core.promises import Region as Proof
from controller.core.promises import run
from controller.db import events
from controller.db.engine import Database
from controller.runtime.metrics import Metrics
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

BEGAN, ENDED = "policy-drift", "policy-drift-ended"

PAUSE = 2.0
"""Seconds between two looks at least: comparing takes work in proportion to the region."""

SHARE = 20
"""A look is followed by a pause so many times as long: in a large region it takes a twentieth of the time at most."""

LOOK = 60.0
"""Seconds between two looks at most: round trips change without a change."""


@dataclass(frozen=True)
class Found:
    """What applying the policy in force anew would do, and its tests that fail."""

    in_force: InForce = field(default_factory=InForce)
    plan: Plan = field(default_factory=Plan)
    failing: tuple[PolicyError, ...] = ()

    @property
    def moves(self) -> int:
        """How many steps it would take."""
        return self.plan.moves

    @property
    def well(self) -> bool:
        """Whether the policy in force is the latest, and its tests hold."""
        return not self.failing and not self.in_force.trouble


class Drift:
    """Looks, and remembers what was found last."""

    def __init__(self, database: Database, changes: Changes, metrics: Metrics, wakeup: Wakeup) -> None:
        self._database, self._changes, self._metrics, self._wakeup = database, changes, metrics, wakeup
        self.found = Found()

    async def look(self) -> Found:
        """Compares."""
        intent = self._changes.intent
        async with self._database.read() as session:
            in_force = await self._changes.policies.load(session)
            known = await medians(session, intent.policy)
            told = await measured(session, in_force.rules)
        found = plan(intent, await asyncio.to_thread(settled, intent, known))
        failing: tuple[PolicyError, ...] = ()
        if in_force.policy and in_force.policy.rules.tests:
            results = await asyncio.to_thread(run, in_force.policy, Proof(intent, told))
            failing = tuple(result.said for result in results if result.refuses)
        self.found = Found(in_force, found, failing)
        self._metrics.policy_drift.set(self.found.moves)
        self._metrics.policy_failing.set(len(failing) + len(in_force.trouble))
        return self.found

    async def boot(self) -> None:
        """Looks when the controller starts. Whatever is wrong with the policy in force, it is used, and shouted of."""
        try:
            found = await self.look()
        except Exception:  # a controller that does not start helps nobody
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
        """Looks after every change, until cancelled. The leader's work."""
        with self._wakeup.listen() as wake:
            while True:
                generation, started = self._changes.intent.generation, time.monotonic()
                try:
                    await self._tell(await self.look())
                except Exception:  # whatever is wrong now, the next look may find it well
                    log.exception("drift")
                await asyncio.sleep(max(PAUSE, SHARE * (time.monotonic() - started)))
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        while generation == self._changes.intent.generation:
                            wake.clear()
                            await wake.wait()

    async def _tell(self, found: Found) -> None:
        """An event where drift begins or ends; what was told last is in the database, whoever told it."""
        async with self._database.read() as session:
            last = await events.latest_of(session, (BEGAN, ENDED))
        drifted = last is not None and last.type == BEGAN
        if (found.moves > 0) == drifted:
            return
        async with self._database.write() as session:
            revision = found.in_force.row.id if found.in_force.row else 0
            if drifted:
                await events.add(session, ENDED, f"revision {revision}", f"all is as revision {revision} says again")
            else:
                text = f"not as revision {revision} says: {found.moves} steps; weft policy drift names them"
                await events.add(session, BEGAN, f"revision {revision}", text, steps=found.moves)
        self._wakeup.ring()
