"""Decides when to ask which gateway, and what silence means. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from agents.dhcp.dual_stack import Version
from agents.passages.targets import Target
from controller.wire.desired import GATEWAYS
from controller.wire.findings import Passage, Verdict

INTERVAL = 60.0
"""Seconds between two questions to a gateway that answers."""

FORBIDDEN = 600.0
"""Seconds between two questions to a gateway that must not answer and does not. They go to everybody on the LAN."""

AGAIN = 5.0
"""Seconds after silence until the next question."""

GRACE = 10.0
"""Seconds that a new pair has at least to get its tunnel."""

WAIT = 2.0
"""Seconds to wait for an answer."""

MISSES = 3
"""So many questions in a row without an answer count as silence."""


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
        """Ask these targets from now on. A target that was there before keeps its state."""
        before, self._pairs = self._pairs, {}
        for target in targets:
            key = target.lan.endpoint, target.remote, target.lan.version
            known = before.get(key)
            fresh = _Pair(target, now + GRACE * (1 + self._chance.random()))
            self._pairs[key] = known if known is not None and known.target == target else fresh

    def due(self, now: float) -> Iterator[tuple[Target, str | None]]:
        """Yield the targets to ask now, each with the MAC that answered last. They count as asked from now on."""
        for pair in sorted(self._pairs.values(), key=lambda pair: pair.due):
            if pair.due > now:
                return
            if pair.asked is None:
                pair.asked, pair.due = now, now + WAIT
                yield pair.target, pair.mac if pair.missed == 0 else None

    def lapse(self, now: float) -> bool:
        """Count the targets that have not answered in time as silent. Return whether a verdict has changed."""
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
        """Take in an answer. Return whether a verdict has changed. From targets that must not answer only a gateway's
        answer counts, because a device may claim any address."""
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
        """Return when there is something to do, or None if there is nobody to ask."""
        return min((pair.due for pair in self._pairs.values()), default=None)

    def passages(self, endpoint: str) -> list[Passage]:
        """Return the verdicts on that LAN's pairs."""
        return [
            Passage(remote=far, allowed=pair.target.allowed, verdict=pair.verdict, family=f"ipv{version}")
            for (near, far, version), pair in sorted(self._pairs.items())
            if near == endpoint and pair.verdict is not None
        ]

    def _about(self, seconds: float) -> float:
        return seconds * (0.9 + 0.2 * self._chance.random())
