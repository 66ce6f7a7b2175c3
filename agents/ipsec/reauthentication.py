"""Peers that have to prove their names again: every two hours, and when a certificate was revoked that may be theirs.
Pure.

charon holds certificates and revocation lists against who begins, and goes on with whom it has let in before. So every
peer is asked again, beside the tunnel that there is; whoever has not proved its name by then loses the tunnel. New keys
prove nothing: they come of the old ones.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import random

EVERY = 7200.0
"""Seconds for which a proof is good, 10 % more or less by chance; a quarter more at the end that does not lead, which
so asks if the leader has not. So no tunnel outlives a certificate by more, and `PATIENCE`."""

SPREAD = 300.0
"""Seconds over which those are asked whose last proof is not known, as this agent has begun since."""

PATIENCE, AGAIN = 720.0, 60.0
"""Seconds to prove it in where there are no news, and after which it is asked again meanwhile."""

LEAD, FOLLOW = 1.0, 3.0
"""Seconds after news at which the end that leads asks, and the other one if that did not. What is proved in the first
does not count: it may have been begun before charon was given the news."""

LIMIT = 7.0
"""Seconds after news to prove it in."""

_LOOKS = 3.0
"""Seconds between two looks, beyond which it was this end that stood still: that time is not the peer's."""


class Act(StrEnum):
    """What is to be done about a peer: it is asked to prove its name, beside the tunnel; or, if it does not know of
    such proofs, by a new tunnel in the place of the old one; or its tunnel is ended."""

    ASK = "ask"
    REPLACE = "replace"
    END = "end"


@dataclass(frozen=True, slots=True)
class _Doubt:
    """From `since` on (monotonic seconds); the others are seconds after that."""

    since: float
    ask: float = 0.0
    limit: float = 0.0
    asked: float | None = None  # monotonic seconds
    refused: bool = False
    missed: float = 0.0  # seconds in which this end stood still


class Reauthentication:
    """By the names of connections. Of each with a tunnel it is known when it is in doubt next, or since when it is."""

    def __init__(self, chance: Callable[[], float] = random) -> None:
        self._doubts: dict[str, _Doubt] = {}
        self._looked = 0.0
        self._chance = chance

    def active(self, now: float) -> bool:
        """Whether anybody is in doubt, so that it is to be looked at every second or so."""
        return any(now >= doubt.since for doubt in self._doubts.values())

    def begin(self, leading: Mapping[str, bool], now: float) -> None:
        """There is news, at this time (monotonic seconds): all of these have to prove themselves, also who just has.
        `leading`: whether this end leads."""
        self._doubts |= {name: _Doubt(now, LEAD if leads else FOLLOW, LIMIT) for name, leads in leading.items()}
        self._looked = now

    def proved(self, name: str, leads: bool, now: float) -> None:
        """The peer has proved its name just now."""
        doubt = self._doubts.get(name)
        if doubt is None or not 0 <= now - doubt.since < min(doubt.ask, LEAD):
            wait = EVERY * (0.9 + 0.2 * self._chance() + (0.0 if leads else 0.25))
            self._doubts[name] = _Doubt(now + wait, limit=PATIENCE)

    def refused(self, name: str) -> None:
        """The peer would not hear of a proof beside the tunnel."""
        doubt = self._doubts.get(name)
        if doubt is not None and doubt.asked is not None:
            self._doubts[name] = replace(doubt, refused=True)

    def due(self, now: float, up: Collection[str], proving: Collection[str]) -> Iterator[tuple[str, Act]]:
        """What is to be done now. `up` are those that have been let in: when this end would ask, others are in no
        doubt, as they will be let in by the list as it is. `proving`: those with a proof that is being made, or is not
        gone yet; charon would take an old one for the new one."""
        pause, self._looked = now - self._looked, now
        for name in sorted(set(up) - self._doubts.keys()):
            self._doubts[name] = _Doubt(now + SPREAD * self._chance(), limit=PATIENCE)
        for name, doubt in [(name, doubt) for name, doubt in self._doubts.items() if now >= doubt.since]:
            waited = now - doubt.since
            if name not in up:
                if waited >= doubt.ask:
                    del self._doubts[name]
                continue
            if pause > _LOOKS:
                doubt = self._doubts[name] = replace(doubt, missed=doubt.missed + min(pause, waited))
            if waited >= doubt.limit + doubt.missed:
                del self._doubts[name]
                yield name, Act.END
            elif doubt.refused:
                self._doubts[name] = replace(doubt, refused=False)
                yield name, Act.REPLACE
            elif waited >= doubt.ask and name not in proving and (doubt.asked is None or now - doubt.asked >= AGAIN):
                self._doubts[name] = replace(doubt, asked=now)
                yield name, Act.ASK
