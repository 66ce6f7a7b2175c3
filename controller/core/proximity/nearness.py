"""The endpoints that are near each other, by policy: by distance, unless the round trip between them is too long."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.core.intent import Intent
from controller.core.policy.model import PolicyVcp
from controller.core.proximity.geodesic import Position, angle, metres, within
from controller.core.proximity.reach import limit, reach

Medians = Mapping[str, Mapping[str, float]]
"""Cloudlet → other cloudlet → median round trip in ms, if it is known and fresh. Either direction is enough."""


@dataclass(frozen=True)
class Encounter:
    """An endpoint that is near by distance. `rtt_ms` is None if nobody measured it. `limit` in metres."""

    endpoint: str
    here: Position
    there: Position
    limit: float
    rtt_ms: float | None = None
    max_rtt_ms: float | None = None

    @property
    def angle(self) -> float:
        """The approximate distance: radians on a sphere."""
        return angle(self.here, self.there)

    @property
    def metres(self) -> float:
        """The distance in metres."""
        return metres(self.here, self.there)

    @property
    def vetoed(self) -> bool:
        """Whether the round trip forbids what the distance allows. An unknown one forbids nothing."""
        return self.rtt_ms is not None and self.max_rtt_ms is not None and self.rtt_ms > self.max_rtt_ms


@dataclass(frozen=True)
class Nearness:
    """Nearness in a region, by the rule of a family of pools."""

    intent: Intent
    rule: PolicyVcp
    medians: Medians = field(default_factory=dict)

    def __call__(self, endpoint: str) -> Iterator[str]:
        """Return the endpoints that are near this one and not vetoed, in any pool or none."""
        return (met.endpoint for met in self.encounters(endpoint) if not met.vetoed)

    def by_distance(self, endpoint: str) -> frozenset[str]:
        """Return the endpoints that are near this one, however long the round trip: an existing pool does not fall
        apart because a line is slow for a while."""
        return frozenset(met.endpoint for met in self.encounters(endpoint))

    def encounters(self, endpoint: str) -> Iterator[Encounter]:
        """Yield the endpoints of the rule's flavour that are near this one by distance, in no order. The cost is
        proportional to the result, not to the region."""
        name = self.intent.endpoints[endpoint].cloudlet
        here = self.intent.cloudlets[name].place
        if here is None:
            return
        policy = self.intent.policy.proximity
        for other, there in self.intent.places.around(here, reach(policy, name)):
            rtt = self._rtt(name, other) if self.medians else None
            allowed = limit(policy, name, other, rtt or 0.0)
            if not within(here, there, allowed) or self.intent.cloudlets[other].pe is not self.rule.flavour:
                continue
            for e in self.intent.endpoints_of.get(other, ()):
                if e.name != endpoint:
                    yield Encounter(e.name, here, there, allowed, rtt, self.rule.max_rtt_ms)

    def _rtt(self, a: str, b: str) -> float | None:
        known = [rtt for rtt in (self.medians.get(a, {}).get(b), self.medians.get(b, {}).get(a)) if rtt is not None]
        return max(known, default=None)
