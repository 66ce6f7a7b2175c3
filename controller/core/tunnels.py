"""Encrypted tunnels: the cloudlets that need them, and the alarms about missing ones. Pure."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from controller.core.intent import Intent

Pair = tuple[str, str]
"""Two cloudlets in the order of their names: a tunnel has two ends."""

ALARM = timedelta(seconds=5)
"""A needed tunnel that is missing for longer is an alarm; setting one up takes less."""


@dataclass(frozen=True)
class Word:
    """The last report of one end, `cloudlet`, about its tunnel to `peer`: up or not, since then."""

    cloudlet: str
    peer: str
    up: bool
    since: datetime
    why: str = ""

    @property
    def pair(self) -> Pair:
        """The pair of cloudlets of the tunnel."""
        return pair(self.cloudlet, self.peer)


@dataclass(frozen=True)
class Turn:
    """An alarm is raised (`down`) or ends: the tunnel is back (`up`), or is no longer needed (`unneeded`)."""

    pair: Pair
    what: Literal["down", "up", "unneeded"]
    since: datetime
    text: str


def pair(one: str, other: str) -> Pair:
    """Return the two in order."""
    return (one, other) if one < other else (other, one)


def peers(intent: Intent, cloudlet: str) -> frozenset[str]:
    """Return the cloudlets that this one shares a pool with, and the other ends of its BGP sessions, if those are
    protected."""
    own = intent.endpoints_of.get(cloudlet, ())
    names = {intent.endpoints[name].cloudlet for endpoint in own for name in intent.remotes(endpoint.name)}
    if (present := intent.cloudlets.get(cloudlet)) is not None:
        names |= {other.name for other in intent.protected(present)}
    return frozenset(names - {cloudlet})


def turns(intent: Intent, words: Iterable[Word], raised: Collection[Pair], now: datetime) -> Iterator[Turn]:
    """Yield the alarms that begin or end. `words` are those of all ends that report a missing tunnel, and of both ends
    of those whose alarm is `raised`."""
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
