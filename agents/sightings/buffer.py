"""Sightings on their way to the controller. They stay in memory: they are hints, and old ones are useless. Pure."""

from collections import Counter, OrderedDict
from dataclasses import dataclass

from controller.wire.sightings import How, Sighting

MOST = 2000
"""Most sightings that are kept while the controller is away. Beyond that, packets are dropped first, the oldest of the
endpoint that has most of them."""

BATCH = 500
"""Most sightings in one report."""

KEPT = 600.0
"""Seconds after which a sighting that could not be reported is given up."""

INTERVAL: dict[How, float] = {"lease": 1.0, "packet": 30.0}
"""Seconds between two reports of the same sighting. The last one is always reported, later if need be."""

DELAY: dict[How, float] = {"lease": 0.02, "packet": 1.0}
"""Seconds for which a sighting waits for others to share a report with."""

Key = tuple[str, str, How, str | None]
"""Endpoint, address, how, and MAC. The same address with another MAC is another sighting."""


@dataclass
class _Waiting:
    at: float
    due: float
    count: int


class Buffer:
    """The sightings that wait. Duplicates are merged. Times are monotonic seconds."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._waiting: OrderedDict[Key, _Waiting] = OrderedDict()
        self._told: OrderedDict[Key, float] = OrderedDict()
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, endpoint: str, address: str, how: How, mac: str | None, now: float) -> None:
        """Note a sighting of now."""
        key = (endpoint, address, how, mac)
        before = self._waiting.pop(key, None)
        due = before.due if before else max(now + DELAY[how], self._told.get(key, -INTERVAL[how]) + INTERVAL[how])
        self._waiting[key] = _Waiting(now, due, min((before.count if before else 0) + 1, 2**31 - 1))
        if len(self._waiting) > self._most:
            self._drop_one()

    @property
    def due(self) -> float | None:
        """When there is something to report; None if there is nothing."""
        return min((waiting.due for waiting in self._waiting.values()), default=None)

    def take(self, now: float) -> list[tuple[Key, "_Waiting"]]:
        """Take out and return the sightings that are due, oldest first, and give up those that are too old. Of one
        address at one LAN only one sighting is taken at a time, leases first."""
        self._forget(now)
        ready = sorted((key for key, waiting in self._waiting.items() if waiting.due <= now), key=_packets_last)
        chosen = set({key[:2]: key for key in reversed(ready)}.values())
        taken = [(key, self._waiting[key]) for key in self._waiting if key in chosen][:BATCH]
        for key, _ in taken:
            del self._waiting[key]
            self._told.pop(key, None)
            self._told[key] = now
        return taken

    def put_back(self, taken: list[tuple[Key, "_Waiting"]], now: float) -> None:
        """Put back sightings that could not be reported. Newer ones replace them."""
        for key, waiting in reversed(taken):
            if key in self._waiting:
                self._waiting[key].count += waiting.count
            else:
                waiting.due = now
                self._waiting[key] = waiting
                self._waiting.move_to_end(key, last=False)
        while len(self._waiting) > self._most:
            self._drop_one()

    def _drop_one(self) -> None:
        keys = [key for key in self._waiting if key[2] == "packet"] or list(self._waiting)
        (loudest, _), *_ = Counter(key[0] for key in keys).most_common(1)
        del self._waiting[next(key for key in keys if key[0] == loudest)]
        self.dropped += 1

    def _forget(self, now: float) -> None:
        for key in [key for key, waiting in self._waiting.items() if waiting.at < now - KEPT]:
            del self._waiting[key]
            self.dropped += 1
        while self._told and next(iter(self._told.values())) < now - max(INTERVAL.values()):
            self._told.popitem(last=False)


def sightings(taken: list[tuple[Key, _Waiting]], now: float) -> list[Sighting]:
    """Return the sightings in the form of the report."""
    return [
        Sighting(
            endpoint=endpoint,
            address=address,
            how=how,
            mac=mac,
            age=max(0.0, round(now - waiting.at, 3)),
            count=waiting.count,
        )
        for (endpoint, address, how, mac), waiting in taken
    ]


def _packets_last(key: Key) -> bool:
    return key[2] == "packet"
