"""Encrypted tunnels: who needs one, and when it is an alarm that there is none. Pure."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from controller.core.intent import Intent

Pair = tuple[str, str]
"""Two cloudlets in the order of their names: a tunnel has two ends."""

ALARM = timedelta(seconds=5)
"""A tunnel that is needed and has not been there for longer is an alarm; one that is being made takes less."""


@dataclass(frozen=True)
class Word:
    """What one end, `cloudlet`, says last of its tunnel to another: there, or not, since then."""

    cloudlet: str
    peer: str
    up: bool
    since: datetime
    why: str = ""

    @property
    def pair(self) -> Pair:
        """Whose tunnel it is."""
        return pair(self.cloudlet, self.peer)


@dataclass(frozen=True)
class Turn:
    """An alarm is raised, or is over: since the tunnel is there again, or since nobody needs it any more."""

    pair: Pair
    what: Literal["down", "up", "unneeded"]
    since: datetime
    text: str


def pair(one: str, other: str) -> Pair:
    """The two, in order."""
    return (one, other) if one < other else (other, one)


def peers(intent: Intent, cloudlet: str) -> frozenset[str]:
    """The cloudlets that this one shares a pool with, and the other ends of its BGP, if that is protected."""
    own = intent.endpoints_of.get(cloudlet, ())
    names = {intent.endpoints[name].cloudlet for endpoint in own for name in intent.remotes(endpoint.name)}
    if (present := intent.cloudlets.get(cloudlet)) is not None:
        names |= {other.name for other in intent.protected(present)}
    return frozenset(names - {cloudlet})


def turns(intent: Intent, words: Iterable[Word], raised: Collection[Pair], now: datetime) -> Iterator[Turn]:
    """What has turned. `words` are of all ends that say that a tunnel is not there, and of both ends of those whose
    alarm is `raised`."""
    said: dict[Pair, list[Word]] = {both: [] for both in raised}
    for word in words:
        said.setdefault(word.pair, []).append(word)
    for both, ends in sorted(said.items()):
        one, other = both
        needed = other in peers(intent, one)
        missing = sorted((end for end in ends if not end.up), key=lambda end: end.since)
        if both in raised and (not needed or not ends):
            yield Turn(both, "unneeded", now, f"{one} and {other} need no tunnel any more")
        elif both in raised and not missing:
            yield Turn(both, "up", max(end.since for end in ends), f"the tunnel between {one} and {other} is back")
        elif both not in raised and needed and missing and now - missing[0].since > ALARM:
            reasons = "; ".join(sorted({f"{end.cloudlet}: {end.why}" for end in missing if end.why}))
            what = "for BGP" if {one, other} & {host.name for host in intent.hosts} else "though they share a pool"
            text = f"no tunnel between {one} and {other}, {what}" + (f" ({reasons})" if reasons else "")
            yield Turn(both, "down", missing[0].since, text)
