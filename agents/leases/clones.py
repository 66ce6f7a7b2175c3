"""Machines that were copied with their client id: DHCP takes them for one, and gives them one address. Pure."""

from collections import OrderedDict
from dataclasses import dataclass

from controller.wire.delegations import Client, Cloned

WINDOW = 3600.0
"""Seconds within which a client id that goes back to a MAC that it had before is two machines': one that has got
another network card, or another random address, does not go back."""

_MOST = 4096  # client ids that are watched; the one not heard of for longest is forgotten first
_MOST_UNTOLD = 100


@dataclass
class _Watched:
    mac: str
    former: str | None = None
    changed: float = 0.0
    found: float = float("-inf")


class Clones:
    """One LAN's. Times are in seconds of any monotonic clock."""

    def __init__(self) -> None:
        self._watched: OrderedDict[str, _Watched] = OrderedDict()
        self.untold: dict[str, Cloned] = {}
        """By client id, what the controller has not yet heard."""

    def note(self, client: Client, now: float) -> None:
        """A client has asked for something."""
        if client.client_id is None or client.mac is None:
            return
        seen = self._watched.pop(client.client_id, None) or _Watched(client.mac)
        self._watched[client.client_id] = seen
        if len(self._watched) > _MOST:
            self._watched.popitem(last=False)
        if client.mac == seen.mac:
            return
        if client.mac == seen.former and now < seen.changed + WINDOW:
            if now >= seen.found + WINDOW and len(self.untold) < _MOST_UNTOLD:
                macs = min(seen.mac, client.mac), max(seen.mac, client.mac)
                self.untold[client.client_id] = Cloned(client_id=client.client_id, macs=macs)
            seen.found = now
        seen.mac, seen.former, seen.changed = client.mac, seen.mac, now

    def found(self, now: float) -> list[str]:
        """What people are to be told about those seen of late."""
        return [
            f"{seen.mac} and {seen.former} come with one client id ({client_id}) and take one address from each other: "
            "give one of them an id of its own (for a copied Linux machine, a new /etc/machine-id)"
            for client_id, seen in self._watched.items()
            if now < seen.found + WINDOW
        ]

    def heard(self, told: list[Cloned]) -> None:
        """The controller has heard of these."""
        for cloned in told:
            if self.untold.get(cloned.client_id) == cloned:
                del self.untold[cloned.client_id]
