"""The service for addresses: leases, delegations, reservations, static hosts and usage."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from controller.core.intent import Intent
from controller.leases.clones import ClonedClients
from controller.leases.delegations import Delegations
from controller.leases.leases import Leases
from controller.leases.renumbering import Renumbering
from controller.leases.reservations import Reservations
from controller.leases.static_hosts import StaticHosts
from controller.leases.usage import Stocks
from controller.replication.replicas import HELLO, Replicas
from controller.runtime.maintenance import CLONES, Chore, sweep
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever

HEARD = "heard"
"""The replicas' message about endpoints whose agents have told all their leases."""


class LeasesService(Service):
    """`intent` returns the intent of the region as it is now."""

    name: ClassVar[str] = "leases"

    def __init__(self, runtime: Runtime, intent: Callable[[], Intent], replicas: Replicas) -> None:
        database, wakeup = runtime.database, runtime.wakeup
        self._intent, self._leadership = intent, replicas.leadership
        self.leases = Leases(database, intent, wakeup, lambda endpoint: replicas.tell(HEARD, [endpoint]))
        self.clones = ClonedClients(database, intent, self.seconds, runtime.event_log)
        self.delegations = Delegations(database, intent, self.leases, wakeup)
        self.stocks = Stocks(database, intent)
        self.static_hosts = StaticHosts(database, intent, wakeup)
        self.reservations = Reservations(database, self.leases, wakeup)
        self.renumbering = Renumbering(self.leases.heard)
        replicas.hear[HEARD] = lambda who, words: self.leases.heard.update(words)
        replicas.hear[HELLO] = lambda who, words: replicas.tell(HEARD, self.leases.heard)

    def seconds(self, endpoint: str) -> int:
        """Return the lease time of an endpoint in seconds."""
        return self.leases.seconds(self._intent().endpoints[endpoint])

    async def run(self) -> None:
        """Run the leader's work: end leases and rests whose time is over, count addresses, and report cloned
        clients."""
        await forever(partial(self._leadership.lead, self._lead))

    async def _lead(self) -> None:
        self.delegations.begin()
        each = (self.leases.sweep, self.delegations.rest, self.static_hosts.sweep, self.stocks.take)
        await sweep([*map(Chore, each), Chore(self.clones.tell, CLONES)])
