"""Packets whose address and MAC do not agree with the lease."""

import time
from collections import OrderedDict
from collections.abc import Callable

from controller.core.event_budget import of_endpoint
from controller.core.sighting_evidence import Lease
from controller.runtime.event_log import EventLog
from controller.wire.sightings import Sighting

QUIET = 600.0
"""Seconds between two events about the same address at the same LAN."""

REMEMBERED = 1000


class Suspicions:
    """Raises an event `device-spoofed`: the first time, and again after QUIET seconds."""

    def __init__(self, event_log: EventLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._event_log, self._clock = event_log, clock
        self._told: OrderedDict[tuple[str, str], float] = OrderedDict()

    def raise_(self, sighting: Sighting, lease: Lease) -> None:
        """Report that another machine's MAC uses the address of this lease."""
        key, at = (sighting.endpoint, sighting.address), self._clock()
        if self._told.get(key, -QUIET) + QUIET > at:
            return
        self._told.pop(key, None)
        self._told[key] = at
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        text = (
            f"{sighting.mac} speaks to {sighting.endpoint} as {sighting.address}, which is {lease.device}'s: "
            f"known by {', '.join(sorted(lease.macs))}"
        )
        data = {"endpoint": sighting.endpoint, "address": sighting.address, "mac": sighting.mac, "how": sighting.how}
        self._event_log.note("device-spoofed", lease.device, text, caused_by=of_endpoint(sighting.endpoint), **data)
