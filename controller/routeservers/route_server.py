"""A route server as one replica knows it, and the rules that it should have."""

from dataclasses import dataclass, field
from typing import Protocol

from controller.routeservers.client import RouteServerClient
from controller.routeservers.queue import RulesOnTrial
from controller.wire.rulesets import Receipt, RuleSet


class RuleSource(Protocol):
    """The source of the region's rules: the change flow."""

    def rules(self) -> RuleSet:
        """Return the rule set at the current generation."""

    def on_trial(self) -> RulesOnTrial | None:
        """Return the rules that a change on trial falls back to, None if there is no trial."""

    async def refresh(self) -> None:
        """Take over the changes of other replicas. Raises Unavailable."""

    async def renew(self, above: int) -> None:
        """Make a generation greater than `above`, in which every desired state is new."""


class SendingHeld(Exception):  # noqa: N818 - a condition that passes
    """Nothing may be sent to the route server now; the message says why."""


@dataclass
class RouteServer:
    """`generation` is None while the server is not known to be in step. `receipt` is that of the latest change, None if
    another replica sent it. The server numbers its events anew from each start (`started_at`)."""

    name: str
    client: RouteServerClient
    source: RuleSource
    generation: int | None = None
    receipt: Receipt | None = field(default=None, repr=False)
    started_at: str = ""
    last_event: int = 0

    def wanted(self) -> RuleSet:
        """Return the current rule set, as far as the server's release understands it."""
        return self.client.understood(self.source.rules())

    def arrived(self, generation: int) -> None:
        """Record that another replica has brought the server to that generation."""
        if self.generation != generation:
            self.generation, self.receipt = generation, None

    async def replace(self, wanted: RuleSet) -> Receipt:
        """Send the whole rule set. If it is on trial, the server first gets the fallback rule set if it has an older
        one, so that it falls back to nothing older. Raises Unreachable, OtherGeneration and RefusedByRouteServer."""
        if (trial := self.source.on_trial()) is None:
            return await self.client.replace(wanted)
        if (await self.client.rule_set()).generation < trial.fallback.generation:
            await self.client.replace(trial.fallback)
        return await self.client.replace(wanted, trial.within)


def ahead(found: RuleSet, wanted: RuleSet) -> bool:
    """Return whether a route server has another rule set than the database, of the same or a later generation."""
    return found != wanted and found.generation >= wanted.generation
