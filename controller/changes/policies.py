"""The policy in force, and the facts about the region that decisions on it need. If this release cannot read the latest
policy in the database, the last one that it can read is in force."""

import asyncio
import logging
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from controller.changes.outcomes import PolicySteps
from controller.core.clock import now
from controller.core.following import asked, followed
from controller.core.intent import Intent
from controller.core.plans import Plan, plan
from controller.core.policy import Policy, PolicyInvalid, parse
from controller.core.policy.model import Rules
from controller.core.promises import Measured, pairs
from controller.core.proximity.nearness import Medians
from controller.core.yaml_document.errors import DocumentError
from controller.db import neighbours
from controller.db.policies import POLICIES, PolicyRow

log = logging.getLogger(__name__)

NONE = Rules()
"""The rules before the first policy."""


@dataclass(frozen=True)
class InForce:
    """The policy in force and its row in the database. `trouble`: why it is not the latest that was applied."""

    policy: Policy | None = None
    row: PolicyRow | None = None
    trouble: tuple[DocumentError, ...] = ()

    @property
    def rules(self) -> Rules:
        """The rules, in the form that decisions read."""
        return self.policy.rules if self.policy else NONE

    @property
    def text(self) -> str:
        """The text as it was written; empty before the first policy."""
        return self.row.text if self.row else ""


class Policies:
    """Reads the policy in force. Each text is parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[int, Policy] = {}
        self._shouted: set[int] = set()

    async def load(self, session: AsyncSession) -> InForce:
        """Return the latest policy that can be read. One that cannot was applied by another release; an error is logged
        once."""
        return await self._first_good(session, await POLICIES.latest(session))

    async def without(self, session: AsyncSession, generation: int) -> InForce:
        """Return the same as `load`, but without the change of that generation."""
        return await self._first_good(session, await POLICIES.before_change(session, generation))

    async def follow(self, session: AsyncSession, old: Intent, edited: Intent) -> tuple[Intent, PolicySteps | None]:
        """Return an edit together with the steps that the policy in force adds to it, and these steps. An edit of pools
        alone, the usual case, adds no steps."""
        if edited.cloudlets is old.cloudlets and edited.endpoints is old.endpoints:
            return edited, None
        after = followed(old, edited, await _medians_of(session, old, edited))
        steps = plan(edited, after)
        return after.intent, None if steps == Plan() else PolicySteps.of(steps)

    async def _first_good(self, session: AsyncSession, row: PolicyRow | None) -> InForce:
        trouble: list[DocumentError] = []
        while row is not None:
            try:
                return InForce(await self._policy(row), row, tuple(trouble))
            except PolicyInvalid as invalid:
                trouble += invalid.errors
                if row.id not in self._shouted:
                    self._shouted.add(row.id)
                    log.error("policy revision %s cannot be read: %s", row.id, invalid.errors[0])
                row = await POLICIES.before(session, row.id)
        return InForce(trouble=tuple(trouble))

    async def _policy(self, row: PolicyRow) -> Policy:
        if row.id not in self._parsed:
            self._parsed = {row.id: await asyncio.to_thread(parse, row.text, row.filename)}
        return self._parsed[row.id]


def by_proximity(rules: Rules) -> bool:
    """Return whether the policy makes any pools by proximity; otherwise no decision needs round-trip times."""
    return any(rule.automatic for rule in rules.vcps.values())


async def medians(session: AsyncSession, rules: Rules) -> Medians:
    """Return the round-trip times that a decision on all pools of a policy needs."""
    return await neighbours.all_medians(session) if by_proximity(rules) else {}


async def measured(session: AsyncSession, rules: Rules) -> Measured:
    """Return the measurements between cloudlets that the tests inside a policy ask for."""
    return Measured(now(), await neighbours.among(session, pairs(rules.tests)))


async def _medians_of(session: AsyncSession, old: Intent, edited: Intent) -> Medians:
    """Return the round-trip times that following an edit needs."""
    return await neighbours.medians(session, asked(old, edited)) if by_proximity(edited.policy) else {}
