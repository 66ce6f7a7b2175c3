"""Where a device is taken to be (Teka, section V): hysteresis over what was seen of it. Pure.

Only a lease moves a device; `controller.core.sighting_evidence` says who may speak of which. A device is taken to be at
a LAN once it has been seen there, and nowhere else since, for `settle_seconds`. Every time that it goes elsewhere is a
turn; turns are forgotten by half every CALM seconds, and the more there are, the longer it has to stay: one second more
after the second, three after the third, then about twice as long each time. One that comes and goes as often as it can
is followed some 20 times an hour, whatever it does.

What arrives late counts at the time when it was seen: the last place in time is the last one in any order of arrival.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controller.wire.sightings import How

CALM = 1800.0
"""Seconds in which half of the turns are forgotten."""

MOST = 10.0
"""Turns that are counted: one that flapped all day is followed again after 17 minutes in one place, at most."""


@dataclass(frozen=True)
class DevicePlace:
    """A device is taken to be at `endpoint` since `since` (None: nowhere yet). It was last seen at `seen_endpoint`,
    there without a break since `seen_since`, the last time at `at`, by `how`. `turns` are as of `turned_at`."""

    seen_endpoint: str
    seen_since: datetime
    at: datetime
    how: How
    turned_at: datetime
    turns: float = 0.0
    endpoint: str | None = None
    since: datetime | None = None

    @property
    def settled(self) -> bool:
        """Whether it is taken to be where it was last seen."""
        return self.endpoint == self.seen_endpoint


def see(place: DevicePlace | None, endpoint: str, at: datetime, how: How) -> DevicePlace:
    """The place after it was seen at `endpoint` at that time."""
    if place is None:
        return DevicePlace(endpoint, seen_since=at, at=at, how=how, turned_at=at)
    if endpoint == place.seen_endpoint:
        return replace(place, at=at, how=how) if at > place.at else place
    if (at, endpoint) > (place.at, place.seen_endpoint):
        return replace(_turned(place, 1, at), seen_endpoint=endpoint, seen_since=at, at=at, how=how)
    if at > place.seen_since:  # it went and came back, and of that only the coming back was known
        return replace(_turned(place, 2, place.at), seen_since=place.at)
    return place  # the last word of where it was before


def hold(turns: float, settle_seconds: float) -> float:
    """Seconds for which it has to stay, after so many turns."""
    return float(settle_seconds + (2.0 ** max(0.0, turns - 1) - 1))


def settles_at(place: DevicePlace, settle_seconds: float) -> datetime:
    """When it is taken to be where it was last seen, if nothing else is seen until then: while it stays, turns are
    forgotten."""
    enough = hold(turns(place, place.seen_since), settle_seconds)
    least, most = min(settle_seconds, enough), enough
    while most - least > 0.01:
        middle = (least + most) / 2
        if middle >= hold(turns(place, place.seen_since + timedelta(seconds=middle)), settle_seconds):
            most = middle
        else:
            least = middle
    return place.seen_since + timedelta(seconds=most)


def settle(place: DevicePlace, at: datetime) -> DevicePlace:
    """It is taken to be where it was last seen."""
    return replace(place, endpoint=place.seen_endpoint, since=at)


def turns(place: DevicePlace, at: datetime) -> float:
    """What is not forgotten of its turns at that time."""
    return float(place.turns * 0.5 ** (max(0.0, (at - place.turned_at).total_seconds()) / CALM))


def _turned(place: DevicePlace, more: int, at: datetime) -> DevicePlace:
    return replace(place, turns=min(MOST, turns(place, at) + more), turned_at=max(at, place.turned_at))
