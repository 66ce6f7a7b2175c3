"""Clones: one DHCP client id with two MACs in two cloudlets, from machines that were copied with it. Pure.

Within a LAN the agent finds them (`agents/leases/clones.py`), by the same sign: the id goes back to a MAC that it had
left. Here the sign is that the older of the two leases is confirmed after the younger one began. A machine that moves
to another cloudlet, with another network card there, does not go back."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

SHOWN = 64
"""The largest number of characters of a client id that are shown."""


@dataclass(frozen=True)
class Use:
    """An unexpired lease under a client id (lower-case hex): given to `mac` at `since`, and last requested at
    `latest`."""

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
        """A sentence for users."""
        one, other = (f"{use.mac} at {use.endpoint} ({use.cloudlet})" for use in (self.one, self.other))
        return f"{one} and {other} come with one client id ({self.shown}) and are taken for one device"

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """A key that stays the same as long as the same two machines are concerned."""
        return self.client_id, self.one.mac, self.one.endpoint, self.other.mac, self.other.endpoint


def clones(pairs: Iterable[tuple[Use, Use]]) -> Iterator[Clones]:
    """Yield the clones among pairs of uses; both uses of a pair have one client id."""
    for pair in pairs:
        older, younger = sorted(pair, key=lambda use: use.since)
        if older.mac == younger.mac or older.cloudlet == younger.cloudlet or older.latest <= younger.since:
            continue
        one, other = sorted(pair, key=lambda use: use.endpoint)
        yield Clones(one.client_id, one, other)
