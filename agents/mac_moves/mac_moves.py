"""Follows the forwarding databases of the LANs."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from agents.kernel.lan import bridge_name
from agents.kernel.snapshot import bridge_index, tunnel_index
from agents.mac_moves.notifications import FdbEntry, listen, look_up
from agents.mac_moves.places import MacPlace, Places
from controller.wire.desired import Desired, Endpoint
from controller.wire.findings import Finding

log = logging.getLogger(__name__)

_LOOK = 10.0  # seconds between two looks for quiet MACs


class MacMoves:
    """The moving MACs of one cloudlet. MacMoves calls `changed` when there is one duplicate more or fewer. `name`
    returns an interface's name by its index, `index` its index by its name, and `ask` the place at which the bridge
    with an index has a MAC. All three raise OSError if there is no such interface."""

    def __init__(
        self,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        name: Callable[[int], str] = socket.if_indextoname,
        index: Callable[[str], int] = socket.if_nametoindex,
        ask: Callable[[int, str], FdbEntry | None] = look_up,
    ) -> None:
        self._changed, self._clock = changed, clock
        self._name, self._index, self._ask = name, index, ask
        self._endpoints: dict[int, Endpoint] = {}
        self._places: dict[str, Places] = {}

    def intend(self, desired: Desired) -> None:
        """Follow these LANs from now on. A LAN that stays keeps what is known of it."""
        self._endpoints = {endpoint.index: endpoint for endpoint in desired.endpoints}
        self._places = {e.name: self._places.get(e.name) or Places() for e in desired.endpoints}

    def findings(self) -> list[Finding]:
        """Return the present duplicates."""
        return [finding for name, places in sorted(self._places.items()) for finding in places.findings(name)]

    def port_of(self, endpoint: str, mac: str) -> str | None:
        """Return the port of a LAN, or the endpoint behind a tunnel, at which a MAC was heard last, or None.

        The kernel notifies a MAC's place only once. Beside a device that makes up MACs that notification may be lost,
        and a newcomer's MAC may be among those forgotten. So this asks the bridge for a place that is not known.
        """
        places = self._places.get(endpoint)
        if places is None:
            return None
        if places.where(mac) is None:
            self._find(endpoint, mac)
        place = places.where(mac)
        return place.name if place is not None else None

    def _find(self, endpoint: str, mac: str) -> None:
        lan = next(lan for lan in self._endpoints.values() if lan.name == endpoint)
        with suppress(OSError):
            entry = self._ask(self._index(bridge_name(lan)), mac)
            if entry is not None:
                self.hear(entry)

    async def run(self) -> None:
        """Work until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(listen(self.hear))
            group.create_task(self._lapse())

    async def _lapse(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            self.lapse()

    def lapse(self) -> None:
        """Forget MACs that have been quiet for long enough."""
        lapsed = [places.lapse(self._clock()) for places in self._places.values()]
        if any(lapsed):
            self._changed()

    def hear(self, entry: FdbEntry) -> None:
        """Take in that the kernel has a MAC at an interface."""
        try:
            interface = self._name(entry.interface)
            index = tunnel_index(interface) if entry.bridge is None else bridge_index(self._name(entry.bridge))
        except OSError:  # gone already
            return
        endpoint = self._endpoints.get(index) if index is not None else None
        if endpoint is None or (place := _place(endpoint, interface, entry)) is None:
            return
        if self._places[endpoint.name].note(entry.mac, place, self._clock()):
            log.warning("%s has the MAC %s at two places", endpoint.name, entry.mac)
            self._changed()


def _place(endpoint: Endpoint, interface: str, entry: FdbEntry) -> MacPlace | None:
    """Return the place of an entry, or None. A pseudowire leads to one remote. An EVPN device leads to all of them:
    there the device itself gives the VTEP, and the bridge's notification is skipped."""
    if tunnel_index(interface) is None:
        return MacPlace(interface)
    _, dot, ve_id = interface.partition(".")
    if dot:
        if entry.bridge is None:
            return None
        found = [r.endpoint for r in endpoint.remotes if str(r.ve_id) == ve_id]
    else:
        if entry.vtep is None:
            return None
        found = sorted(r.endpoint for r in endpoint.remotes if r.vtep == entry.vtep)
    return MacPlace(found[0], tunnel=True) if found else None
