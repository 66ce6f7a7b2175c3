"""Machines that were copied with their client id: DHCP takes them for one machine and gives them one address. Pure."""

from collections import OrderedDict
from dataclasses import dataclass

from controller.wire.delegations import Client
from controller.wire.findings import Finding

WINDOW = 3600.0
"""Seconds within which a client id that returns to an earlier MAC counts as that of two machines. A machine that has a
new network card, or a new random address, does not return to an earlier MAC."""

_MOST = 4096  # client ids that are watched; the least recently heard is forgotten first
_MOST_FOUND = 100
_SHOWN = 64  # characters of a client id


@dataclass
class _Watched:
    mac: str
    former: str | None = None
    changed: float = 0.0
    found: float = float("-inf")


class Clones:
    """The client ids of one LAN. Times are in seconds of any monotonic clock."""

    def __init__(self) -> None:
        self._watched: OrderedDict[str, _Watched] = OrderedDict()

    def note(self, client: Client, now: float) -> None:
        """Note the MAC and client id of a request."""
        if client.client_id is None or client.mac is None:
            return
        seen = self._watched.pop(client.client_id, None) or _Watched(client.mac)
        self._watched[client.client_id] = seen
        if len(self._watched) > _MOST:
            self._watched.popitem(last=False)
        if client.mac == seen.mac:
            return
        if client.mac == seen.former and now < seen.changed + WINDOW:
            seen.found = now
        seen.mac, seen.former, seen.changed = client.mac, seen.mac, now

    def findings(self, endpoint: str, now: float) -> list[Finding]:
        """Return a finding for each client id that was found to be cloned within the last hour, with both MACs."""
        found = [(id, seen) for id, seen in self._watched.items() if now < seen.found + WINDOW]
        return [_finding(endpoint, id, sorted((seen.mac, seen.former or seen.mac))) for id, seen in found[:_MOST_FOUND]]


def _finding(endpoint: str, client_id: str, macs: list[str]) -> Finding:
    shown = client_id if len(client_id) <= _SHOWN else client_id[:_SHOWN] + "…"
    text = (
        f"{macs[0]} and {macs[1]} at {endpoint} come with one client id ({shown}) and take one address from each other"
    )
    words = {"subject": shown, "expected": "one MAC", "found": " and ".join(macs)}
    return Finding(kind="cloned-client", text=text, endpoint=endpoint, **words)
