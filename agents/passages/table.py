"""When to ask whom, and what silence means. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from agents.dhcp.dual_stack import Version
from agents.passages.targets import Target
from controller.wire.desired import GATEWAYS
from controller.wire.findings import Passage, Verdict

INTERVAL = 60.0
"""Seconds between two questions to who answers."""

FORBIDDEN = 600.0
"""Seconds between two to who must not and does not: those go to everybody on the LAN."""

AGAIN = 5.0
"""Seconds until it is tried again after silence."""

GRACE = 10.0
"""Seconds that a new pair has to get its tunnel, at least."""

WAIT = 2.0
"""Seconds within which an answer comes."""

MISSES = 3
"""So many in a row without an answer are silence."""


@dataclass(slots=True)
class _Pair:
    target: Target
    due: float
    asked: float | None = None
    missed: int = 0
    verdict: Verdict | None = None
    mac: str | None = None


class Table:
    """All pairs of a cloudlet. Times are seconds of one clock."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._pairs: dict[tuple[str, str, Version], _Pair] = {}

    def intend(self, targets: Iterable[Target], now: float) -> None:
        """These from now on. One that was there goes on as it was."""
        before, self._pairs = self._pairs, {}
        for target in targets:
            key = target.lan.endpoint, target.remote, target.lan.version
            known = before.get(key)
            fresh = _Pair(target, now + GRACE * (1 + self._chance.random()))
            self._pairs[key] = known if known is not None and known.target == target else fresh

    def due(self, now: float) -> Iterator[tuple[Target, str | None]]:
        """Who is to be asked now, and the MAC that answered last. What comes out of this counts as asked."""
        for pair in sorted(self._pairs.values(), key=lambda pair: pair.due):
            if pair.due > now:
                return
            if pair.asked is None:
                pair.asked, pair.due = now, now + WAIT
                yield pair.target, pair.mac if pair.missed == 0 else None

    def lapse(self, now: float) -> bool:
        """Takes those that have not answered in time for silent. Returns whether a verdict is another."""
        changed = False
        for pair in self._pairs.values():
            if pair.asked is not None and now >= pair.asked + WAIT:
                pair.asked, pair.missed = None, pair.missed + 1
                decided = pair.missed >= MISSES
                changed |= decided and pair.verdict != "silent"
                pair.verdict = "silent" if decided else pair.verdict
                quiet = decided and not pair.target.allowed
                pair.due = now + self._about(FORBIDDEN if quiet else AGAIN)
        return changed

    def answered(self, endpoint: str, address: str, mac: str, now: float) -> bool:
        """Takes note of an answer. Returns whether a verdict is another. Of those that must not answer only a gateway's
        counts: a device may call itself whatever it likes."""
        changed = False
        for pair in self._pairs.values():
            if pair.asked is None or (pair.target.lan.endpoint, pair.target.address) != (endpoint, address):
                continue
            if not pair.target.allowed and not mac.startswith(GATEWAYS):
                continue
            changed |= pair.verdict != "passes"
            pair.asked, pair.missed, pair.verdict, pair.mac = None, 0, "passes", mac
            pair.due = now + self._about(INTERVAL)
        return changed

    def next(self) -> float | None:
        """When there is something to do; None if there is nobody to ask."""
        return min((pair.due for pair in self._pairs.values()), default=None)

    def passages(self, endpoint: str) -> list[Passage]:
        """What is decided of that LAN's."""
        return [
            Passage(remote=far, allowed=pair.target.allowed, verdict=pair.verdict, family=f"ipv{version}")
            for (near, far, version), pair in sorted(self._pairs.items())
            if near == endpoint and pair.verdict is not None
        ]

    def _about(self, seconds: float) -> float:
        return seconds * (0.9 + 0.2 * self._chance.random())
