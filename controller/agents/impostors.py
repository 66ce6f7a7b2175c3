"""Events about packets of impostors that cloudlets drop, limited in number however many packets are dropped."""

import time
from collections import OrderedDict
from collections.abc import Callable

from controller.core.event_budget import of_cloudlet
from controller.runtime.event_log import EventLog
from controller.wire.access import AccessReport, Dropped, Impostor

QUIET = 600.0
"""Seconds between two events about the same kind of packet at the same LAN."""

REMEMBERED = 1000

EVENTS: dict[Impostor, tuple[str, str]] = {
    "dhcp": ("rogue-dhcp", "somebody at an access port speaks as a DHCP server"),
    "router": ("rogue-router", "somebody at an access port speaks as a router"),
    "gateway": ("gateway-spoofed", "somebody at an access port uses the gateway's addresses"),
    "tagged": ("frames-hidden", "somebody at an access port sends tagged frames"),
    "wrapped": ("frames-hidden", "somebody at an access port sends frames whose packet stands behind another header"),
    "hidden": ("frames-hidden", "somebody at an access port sends headers that cannot be read"),
    "source": ("address-spoofed", "somebody at an access port uses an address that is not its own"),
    "crowd": ("too-many-macs", "somebody at an access port uses more MACs than its bridge learns of one port"),
    "crowd-in": ("too-many-macs", "more MACs came out of a tunnel than its bridge learns of one"),
    "speakers": (
        "too-many-addresses",
        "somebody at an access port uses more addresses than the gateway keeps of one port",
    ),
    "speakers-in": ("too-many-addresses", "more addresses came out of a tunnel than the gateway keeps of one"),
    "scan": (
        "address-scan",
        "somebody at an access port has the gateway look for more addresses than it does for one port",
    ),
    "scan-in": (
        "address-scan",
        "somebody behind a tunnel has the gateway look for more addresses than it does for one",
    ),
    "requests": ("too-many-requests", "somebody at an access port asks more of DHCP or the router than one port may"),
    "requests-in": ("too-many-requests", "more came out of a tunnel for DHCP or the router than one may bring"),
    "vxlan": ("vxlan-injected", "VXLAN came from somebody who shares no pool with it"),
    "vni": ("vxlan-injected", "VXLAN came from the VTEP of a peer, with the VNI of a tunnel that is not that peer's"),
}
"""The event's type and text, by the kind of packet that was dropped."""


class Impostors:
    """Raises an event at the first drop, and again after QUIET seconds if drops have gone on."""

    def __init__(self, event_log: EventLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._event_log, self._clock = event_log, clock
        self._told: OrderedDict[tuple[str, str], float] = OrderedDict()

    def look(self, before: AccessReport | None, report: AccessReport) -> None:
        """Note the packets that a cloudlet has dropped since the report before."""
        had = {(one.endpoint, one.what): one.packets for one in before.dropped} if before else {}
        for one in report.dropped:
            if one.packets and one.packets != had.get((one.endpoint, one.what)):
                self._tell(report.cloudlet, one)

    def _tell(self, cloudlet: str, dropped: Dropped) -> None:
        subject, at = dropped.endpoint or cloudlet, self._clock()
        type_, text = EVENTS[dropped.what]
        key = subject, dropped.what
        if self._told.get(key, -QUIET) + QUIET > at:
            return
        self._told.pop(key, None)
        self._told[key] = at
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        data = {"cloudlet": cloudlet, "what": dropped.what, "packets": dropped.packets}
        said, source = f"{subject}: {text}; {dropped.packets} packets dropped", of_cloudlet(cloudlet)
        self._event_log.note(type_, subject, said, caused_by=source, **data)
