"""One DHCP client id with two MACs in two cloudlets: machines that were copied with it. Pure.

Within a LAN the agent finds them (`agents/leases/clones.py`), by the same sign: the id goes back to a MAC that it had
left. Here the older of the two leases is confirmed after the younger one began. A machine that has gone to another
cloudlet, with another network card there, does not go back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

SHOWN = 64
"""Characters of a client id that are shown."""


@dataclass(frozen=True)
class Use:
    """A lease that has not expired, under a client id (lower-case hex): given to `mac` at `since`, and asked for the
    last time at `latest`."""

    client_id: str
    mac: str
    endpoint: str
    cloudlet: str
    since: datetime
    latest: datetime


@dataclass(frozen=True)
class Clones:
    """Two machines with one client id."""

    client_id: str
    one: Use
    other: Use

    @property
    def shown(self) -> str:
        """The client id, cut off if it is long."""
        return self.client_id if len(self.client_id) <= SHOWN else self.client_id[:SHOWN] + "…"

    @property
    def text(self) -> str:
        """A sentence for people."""
        one, other = (f"{use.mac} at {use.endpoint} ({use.cloudlet})" for use in (self.one, self.other))
        return f"{one} and {other} come with one client id ({self.shown}) and are taken for one device"

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The same as long as it is the same two."""
        return self.client_id, self.one.mac, self.one.endpoint, self.other.mac, self.other.endpoint


def clones(pairs: Iterable[tuple[Use, Use]]) -> Iterator[Clones]:
    """Those of the pairs, each of one client id, that are two machines'."""
    for pair in pairs:
        older, younger = sorted(pair, key=lambda use: use.since)
        if older.mac == younger.mac or older.cloudlet == younger.cloudlet or older.latest <= younger.since:
            continue
        one, other = sorted(pair, key=lambda use: use.endpoint)
        yield Clones(one.client_id, one, other)
