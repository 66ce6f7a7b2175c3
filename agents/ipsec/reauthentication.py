"""Decides which peers have to prove their names again: each one every two hours, and all when a certificate was
revoked. Pure.

charon checks certificates and revocation lists only when an IKE_SA begins, and keeps the peers that it has let in
before. So this end asks every peer again, beside the present tunnel. A peer that has not proved its name in time loses
the tunnel. New keys prove nothing, because they are derived from the old ones.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import random

EVERY = 7200.0
"""Seconds for which a proof is good, 10 % more or less at random. The end that does not lead waits a quarter longer, so
it asks only if the leader has not. So a tunnel outlives a certificate by no more than that and `PATIENCE`."""

SPREAD = 300.0
"""Seconds over which this end spreads its questions to peers whose last proof it does not know, as the agent has
started since."""

PATIENCE, AGAIN = 720.0, 60.0
"""Seconds in which a peer has to prove its name if there is no revocation, and seconds after which it is asked again
meanwhile."""

LEAD, FOLLOW = 1.0, 3.0
"""Seconds after a revocation at which the end that leads asks, and at which the other end asks if the leader has not. A
proof within `LEAD` does not count: it may have begun before charon got the new list."""

LIMIT = 7.0
"""Seconds after a revocation in which a peer has to prove its name."""

_LOOKS = 3.0
"""Seconds between two looks, above which this end itself stood still. Such time does not count against the peer."""


class Act(StrEnum):
    """The action on a peer: ask it to prove its name beside the tunnel; if it does not support such proofs, replace the
    tunnel by a new one; or end its tunnel."""

    ASK = "ask"
    REPLACE = "replace"
    END = "end"


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A peer's name is in doubt from `since` on (monotonic seconds). The other fields are seconds after that."""

    since: float
    ask: float = 0.0
    limit: float = 0.0
    asked: float | None = None  # monotonic seconds
    refused: bool = False
    missed: float = 0.0  # seconds in which this end stood still


class Reauthentication:
    """The peers by the names of their connections: for each one with a tunnel, from when on its name is in doubt."""

    def __init__(self, chance: Callable[[], float] = random) -> None:
        self._doubts: dict[str, _Doubt] = {}
        self._looked = 0.0
        self._chance = chance

    def active(self, now: float) -> bool:
        """Return whether any peer is in doubt, so that the caller has to look every second or so."""
        return any(now >= doubt.since for doubt in self._doubts.values())

    def begin(self, leading: Mapping[str, bool], now: float) -> None:
        """Put all of these peers in doubt at this time (monotonic seconds), as a certificate was revoked; those too
        that have just proved their names. `leading` says whether this end leads."""
        self._doubts |= {name: _Doubt(now, LEAD if leads else FOLLOW, LIMIT) for name, leads in leading.items()}
        self._looked = now

    def proved(self, name: str, leads: bool, now: float) -> None:
        """Note that the peer has just proved its name."""
        doubt = self._doubts.get(name)
        if doubt is None or not 0 <= now - doubt.since < min(doubt.ask, LEAD):
            wait = EVERY * (0.9 + 0.2 * self._chance() + (0.0 if leads else 0.25))
            self._doubts[name] = _Doubt(now + wait, limit=PATIENCE)

    def refused(self, name: str) -> None:
        """Note that the peer has refused a proof beside the tunnel."""
        doubt = self._doubts.get(name)
        if doubt is not None and doubt.asked is not None:
            self._doubts[name] = replace(doubt, refused=True)

    def due(self, now: float, up: Collection[str], proving: Collection[str]) -> Iterator[tuple[str, Act]]:
        """Yield the actions to take now. `up` are the peers that charon has let in. A peer that is not among them when
        this end would ask is no longer in doubt: charon will check it against the present list. `proving` are the peers
        with a proof that is being made or has not been removed; charon would take an old proof for the new one."""
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
