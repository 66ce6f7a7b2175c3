"""How many events each source outside of the controller may cause: an agent, a LAN's devices, a PE, strangers. Pure.

Events that operators or the controller itself cause have no source, and are never held back. The controller counts
the events of a source beyond its budget, and tells of them in one (`events-held`) with the last text of each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controller.core.rate_limiter import RateLimiter

HELD = "events-held"
"""The type of the event that tells of those that were held back."""

TOLD = 60.0
"""Seconds in which what is held back of one source becomes one event."""

KIND_BURST, KIND_RATE = 50, 0.1
"""Of each kind, a source may cause so many at once, and so many a second over time."""

WIDE_BURST, WIDE_RATE = 2000, 2.0
"""The same for kinds that a whole LAN causes when its devices come at once, and for all kinds of a source together."""

WIDE = frozenset({"lease-granted", "lease-released", "lease-expired", "device-seen", "address-freed"})

STRANGERS = "strangers"
"""The source of all that have no credential: there is no end of addresses that they may come from."""


def of_cloudlet(name: str) -> str:
    """The source of what an agent says."""
    return f"cloudlet:{name}"


def of_endpoint(name: str) -> str:
    """The source of what the devices of a LAN do."""
    return f"endpoint:{name}"


def of_pe(address: str) -> str:
    """The source of what a BGP speaker does."""
    return f"pe:{address}"


def of_tunnel(one: str, other: str) -> str:
    """The source of what both agents of a tunnel say."""
    return f"tunnel:{one} {other}"


@dataclass
class HeldEvents:
    """The events of one source that were held back: how many of each kind, and the last text of each."""

    since: float
    counts: dict[str, int] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)

    def text(self, source: str) -> str:
        """A sentence for people."""
        parts = (f"{number} {kind} (the last: {self.last[kind]})" for kind, number in self.counts.items())
        return f"{source}: {sum(self.counts.values())} events were held back: {'; '.join(parts)}"

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return {"held": dict(self.counts), "last": dict(self.last)}


class EventBudget:
    """Token buckets of each source, and of each kind of a source."""

    def __init__(self) -> None:
        self._narrow = RateLimiter(KIND_RATE, KIND_BURST)
        self._wide = RateLimiter(WIDE_RATE, WIDE_BURST)
        self._held: dict[str, HeldEvents] = {}

    def admit(self, source: str, kind: str, text: str, now: float) -> bool:
        """Whether an event may be written at `now`, in seconds of any steady clock; one that may not is counted."""
        buckets = self._wide if kind in WIDE else self._narrow
        if not buckets.take((source, kind), now) and not self._wide.take(source, now):
            return True
        held = self._held.setdefault(source, HeldEvents(now))
        held.counts[kind] = held.counts.get(kind, 0) + 1
        held.last[kind] = text[:200]
        return False

    def due(self, now: float, *, all_: bool = False) -> Iterator[tuple[str, HeldEvents]]:
        """Takes out what has been held back for TOLD seconds; with `all_`, whatever there is."""
        for source in [source for source, held in self._held.items() if all_ or now - held.since >= TOLD]:
            yield source, self._held.pop(source)
