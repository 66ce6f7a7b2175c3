"""A route server as one replica knows it, and the rules that it is to have."""

from dataclasses import dataclass, field
from typing import Protocol

from controller.routeservers.client import RouteServerClient
from controller.routeservers.queue import RulesOnTrial
from controller.wire.rulesets import Receipt, RuleSet


class RuleSource(Protocol):
    """Where the rules of the region come from: the change flow."""

    def rules(self) -> RuleSet:
        """Return the rule set at the current generation."""

    def on_trial(self) -> RulesOnTrial | None:
        """Return the rules that a change on trial falls back to, None if there is no trial."""

    async def refresh(self) -> None:
        """Take over what other replicas have changed. Raises Unavailable."""

    async def renew(self, above: int) -> None:
        """Make a generation greater than `above`, in which every desired state is new."""


class SendingHeld(Exception):  # noqa: N818 - a condition that passes
    """Nothing is to be sent to the route server now; the message says why."""


@dataclass
class RouteServer:
    """`generation` is None while it is not known to be in step. `receipt` is what the latest change from here did, None
    if another replica sent the latest. Its events are numbered from `started_at` on."""

    name: str
    client: RouteServerClient
    source: RuleSource
    generation: int | None = None
    receipt: Receipt | None = field(default=None, repr=False)
    started_at: str = ""
    last_event: int = 0

    def wanted(self) -> RuleSet:
        """The current rule set, as far as its release understands it."""
        return self.client.understood(self.source.rules())

    def arrived(self, generation: int) -> None:
        """Another replica has brought it to that generation."""
        if self.generation != generation:
            self.generation, self.receipt = generation, None

    async def replace(self, wanted: RuleSet) -> Receipt:
        """Send the whole rule set. What is on trial has to fall back to what was in force before, and to nothing older.
        Raises Unreachable, OtherGeneration and RefusedByRouteServer."""
        if (trial := self.source.on_trial()) is None:
            return await self.client.replace(wanted)
        if (await self.client.rule_set()).generation < trial.fallback.generation:
            await self.client.replace(trial.fallback)
        return await self.client.replace(wanted, trial.within)


def ahead(found: RuleSet, wanted: RuleSet) -> bool:
    """Whether a route server has something else, and no older, than the database."""
    return found != wanted and found.generation >= wanted.generation
