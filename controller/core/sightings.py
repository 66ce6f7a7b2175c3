"""The place where a device is taken to be (Teka, section V): sightings with hysteresis. Pure.

Only a lease moves a device; `controller.core.sighting_evidence` decides which reports count. A device is taken to be at
a LAN once it has been seen there, and nowhere else since, for `settle_seconds`. Each time that it goes elsewhere is a
turn. The count of turns halves every CALM seconds. The more turns, the longer the device has to stay: one second more
after the second, three after the third, then about twice as long each time. A device that comes and goes as often as it
can is followed some 20 times an hour at most.

A late sighting counts at the time when it was made: the last place in time is the last one in any order of arrival."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controller.wire.sightings import How

CALM = 1800.0
"""Seconds in which the count of turns halves."""

MOST = 10.0
"""The most turns that are counted: a device that flapped all day is followed again after 17 minutes in one place, at
most."""


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
    """Return the place after the device was seen at `endpoint` at that time."""
    if place is None:
        return DevicePlace(endpoint, seen_since=at, at=at, how=how, turned_at=at)
    if endpoint == place.seen_endpoint:
        return replace(place, at=at, how=how) if at > place.at else place
    if (at, endpoint) > (place.at, place.seen_endpoint):
        return replace(_turned(place, 1, at), seen_endpoint=endpoint, seen_since=at, at=at, how=how)
    if at > place.seen_since:  # it left and came back, and only its return was known
        return replace(_turned(place, 2, place.at), seen_since=place.at)
    return place  # the last sighting at its previous place


def hold(turns: float, settle_seconds: float) -> float:
    """Return the seconds for which it has to stay, after so many turns."""
    return float(settle_seconds + (2.0 ** max(0.0, turns - 1) - 1))


def settles_at(place: DevicePlace, settle_seconds: float) -> datetime:
    """Return when it is taken to be where it was last seen, if it is seen nowhere else until then: the count of turns
    decreases while it stays."""
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
    """Return the place with the device taken to be where it was last seen."""
    return replace(place, endpoint=place.seen_endpoint, since=at)


def turns(place: DevicePlace, at: datetime) -> float:
    """Return the count of turns that is left at that time."""
    return float(place.turns * 0.5 ** (max(0.0, (at - place.turned_at).total_seconds()) / CALM))


def _turned(place: DevicePlace, more: int, at: datetime) -> DevicePlace:
    return replace(place, turns=min(MOST, turns(place, at) + more), turned_at=max(at, place.turned_at))
