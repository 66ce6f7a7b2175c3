"""The policy's limits on what a transfer may take of a link. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime

from controller.core.policy.model import BandwidthLimit


def most(limits: Iterable[BandwidthLimit], source: str, destination: str, at: datetime) -> int | None:
    """Return the most bits per second that a transfer from one cloudlet to another may take at a time: the lowest
    limit that applies. None if none does."""
    utc = at.astimezone(UTC)
    minute = utc.hour * 60 + utc.minute
    found = (
        one.bits
        for one in limits
        if one.source in (None, source) and one.destination in (None, destination) and _includes(one.hours, minute)
    )
    return min(found, default=None)


def _includes(hours: tuple[int, int] | None, minute: int) -> bool:
    if hours is None:
        return True
    begins, ends = hours
    return begins <= minute < ends if begins < ends else minute >= begins or minute < ends
