"""Peers that have to prove their names again, since a certificate was revoked that may be theirs. Pure.

charon holds a revocation list against certificates that it is shown, and goes on with whom it has let in before. So
every peer is asked again, beside the tunnel that there is; whoever has not proved it by then loses the tunnel.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

LEAD, FOLLOW = 1.0, 3.0
"""Seconds after the news at which the end that leads asks, and the other one if that did not. Not at once, as charon
counts whole seconds: what was proved in the first could not be told from what was before."""

LIMIT = 7.0
"""Seconds to prove it in."""

_LOOKS = 3.0
"""Seconds between two looks, beyond which it was this end that stood still: that time is not the peer's."""


class Act(StrEnum):
    """What is to be done about a peer: it is asked to prove its name, or its tunnel is ended."""

    ASK = "ask"
    END = "end"


@dataclass(frozen=True, slots=True)
class _Doubt:
    since: float
    asked: bool = False
    missed: float = 0.0  # seconds in which this end stood still


class Doubts:
    """By the names of connections."""

    def __init__(self) -> None:
        self._doubts: dict[str, _Doubt] = {}
        self._looked = 0.0

    def __bool__(self) -> bool:
        return bool(self._doubts)

    def begin(self, names: Iterable[str], now: float) -> None:
        """There is news, at this time (monotonic seconds): all of these have to prove themselves, also who just has."""
        self._doubts |= dict.fromkeys(names, _Doubt(now))
        self._looked = now

    def due(self, now: float, ages: Mapping[str, int | None], leading: Mapping[str, bool]) -> Iterator[tuple[str, Act]]:
        """What is to be done now. `ages` is how many whole seconds ago each peer proved its name last; one without a
        tunnel is in no doubt, as it is let in by the list as it is. `leading`: whether this end leads. To be asked
        every second or so."""
        pause, self._looked = now - self._looked, now
        for name, doubt in list(self._doubts.items()):
            if pause > _LOOKS:
                doubt = self._doubts[name] = replace(doubt, missed=doubt.missed + pause)
            age = ages.get(name)
            if age is None or now - (age + 1) >= doubt.since:
                del self._doubts[name]
            elif now >= doubt.since + LIMIT + doubt.missed:
                del self._doubts[name]
                yield name, Act.END
            elif not doubt.asked and now >= doubt.since + (LEAD if leading.get(name, True) else FOLLOW):
                self._doubts[name] = replace(doubt, asked=True)
                yield name, Act.ASK
