"""Limits on the events that each source outside of the controller may cause: an agent, a LAN's devices, a PE,
strangers. Pure.

Events that operators or the controller itself cause have no source and are never held back. The controller counts the
events of a source beyond its budget, and reports them in one event (`events-held`) with the last text of each kind."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controller.core.rate_limiter import RateLimiter

HELD = "events-held"
"""The type of the event that reports held-back events."""

TOLD = 60.0
"""Seconds after which the held-back events of a source become one event."""

KIND_BURST, KIND_RATE = 50, 0.1
"""The burst, and the events a second over time, that a source may cause of each kind."""

WIDE_BURST, WIDE_RATE = 2000, 2.0
"""The same for kinds that a whole LAN causes when its devices come at once, and for all kinds of a source together."""

WIDE = frozenset({"lease-granted", "lease-released", "lease-expired", "device-seen", "address-freed"})

STRANGERS = "strangers"
"""The source of all clients without a credential: the number of addresses that they may come from has no limit."""


def of_cloudlet(name: str) -> str:
    """Return the source name of an agent's messages."""
    return f"cloudlet:{name}"


def of_endpoint(name: str) -> str:
    """Return the source name of the activity of a LAN's devices."""
    return f"endpoint:{name}"


def of_pe(address: str) -> str:
    """Return the source name of a BGP speaker's activity."""
    return f"pe:{address}"


def of_tunnel(one: str, other: str) -> str:
    """Return the source name of the messages of both agents of a tunnel."""
    return f"tunnel:{one} {other}"


@dataclass
class HeldEvents:
    """The held-back events of one source: how many of each kind, and the last text of each."""

    since: float
    counts: dict[str, int] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)

    def text(self, source: str) -> str:
        """Return a sentence for users."""
        parts = (f"{number} {kind} (the last: {self.last[kind]})" for kind, number in self.counts.items())
        return f"{source}: {sum(self.counts.values())} events were held back: {'; '.join(parts)}"

    def data(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {"held": dict(self.counts), "last": dict(self.last)}


class EventBudget:
    """Token buckets of each source, and of each kind of a source."""

    def __init__(self) -> None:
        self._narrow = RateLimiter(KIND_RATE, KIND_BURST)
        self._wide = RateLimiter(WIDE_RATE, WIDE_BURST)
        self._held: dict[str, HeldEvents] = {}

    def admit(self, source: str, kind: str, text: str, now: float) -> bool:
        """Return whether an event may be written at `now`, in seconds of any steady clock; one that may not is
        counted."""
        buckets = self._wide if kind in WIDE else self._narrow
        if not buckets.take((source, kind), now) and not self._wide.take(source, now):
            return True
        held = self._held.setdefault(source, HeldEvents(now))
        held.counts[kind] = held.counts.get(kind, 0) + 1
        held.last[kind] = text[:200]
        return False

    def due(self, now: float, *, all_: bool = False) -> Iterator[tuple[str, HeldEvents]]:
        """Yield and remove the events that have been held back for TOLD seconds; all of them with `all_`."""
        for source in [source for source, held in self._held.items() if all_ or now - held.since >= TOLD]:
            yield source, self._held.pop(source)
