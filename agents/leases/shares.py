"""How many pairs the clients at each port of a LAN hold, and the limit for a port. The clients of one port, real or
made up, cannot use up a LAN's addresses before those of other ports have any (DHCP starvation). Pure."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from controller.wire.findings import Finding

SCARCE = 8
"""When less than one of this many pairs is free, a port gets no more than its equal share."""

TOLD = 3600.0
"""Seconds for which a finding names a port that was refused a pair."""

NOWHERE = ""  # the port of clients that the bridge has not heard: it has no share, or made-up MACs would get one


@dataclass(frozen=True)
class Ports:
    """A LAN's access ports: `of` returns the port at which a MAC was heard last, `number` the number of ports."""

    of: Callable[[str], str | None] = lambda _mac: None
    number: Callable[[], int] = lambda: 1


ONE_PORT = Ports()
"""The ports of a LAN about which nothing more is known."""


class Shares:
    """The shares of one LAN's ports. Times are in seconds of any monotonic clock."""

    def __init__(self, ports: Ports = ONE_PORT) -> None:
        self._ports = ports
        self._port: dict[int, str] = {}
        self._held: Counter[str] = Counter()
        self._refused: dict[str, float] = {}

    def hold(self, number: int, mac: str | None) -> None:
        """Note that the client with that MAC has a pair, again or for the first time."""
        self.drop(number)
        self._port[number] = port = self._of(mac)
        self._held[port] += 1

    def drop(self, number: int) -> None:
        """Note that nobody has the pair."""
        port = self._port.pop(number, None)
        if port is not None:
            self._held[port] -= 1
            if not self._held[port]:
                del self._held[port]

    def admits(self, mac: str | None, free: int, size: int, now: float) -> bool:
        """Return whether a client of no registered device may have one of the `free` pairs of `size`."""
        port = self._of(mac)
        shares = max(self._ports.number(), len(self._held.keys() | {port}))
        less = port != NOWHERE and self._held[port] * shares < size
        if shares == 1 or free >= size / SCARCE or less:
            return True
        self._refused = {at: since for at, since in self._refused.items() if now < since + TOLD}
        self._refused[port] = now
        return False

    def findings(self, endpoint: str, now: float) -> list[Finding]:
        """Return the findings about ports that were refused a pair within the last hour. Their texts stay the same
        until then."""
        return [_finding(endpoint, port) for port, at in sorted(self._refused.items()) if now < at + TOLD]

    def _of(self, mac: str | None) -> str:
        return (self._ports.of(mac) if mac else None) or NOWHERE


def _finding(endpoint: str, port: str) -> Finding:
    where = f"port {port}" if port else "a port that is not known"
    text = (
        f"The clients at {where} of {endpoint} hold more than their share of its pairs, and few are left: further ones "
        "there that nobody has registered get none, so that those of other ports do"
    )
    words = {"subject": port or "-", "expected": "an equal share of the LAN's pairs", "found": "more than that"}
    return Finding(kind="pairs-hoarded", text=text, endpoint=endpoint, **words)
