"""The leases of one LAN: its book, its journal, and the exchange with the controller that keeps both sides the same."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address, ip_network
from math import inf
from pathlib import Path
from typing import Protocol

from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from agents.dhcp.lease_source import LeaseRefused, NoAnswer
from agents.leases.account import Account
from agents.leases.book import Answer, Book
from agents.leases.clones import Clones
from agents.leases.journal import Journal, JournalError
from agents.leases.pair import KINDS, Kind
from agents.leases.shares import ONE_PORT, Ports, Shares
from agents.sources import Leased, Sources
from controller.wire.delegations import Client, Exchange, Exchanged
from controller.wire.desired import Endpoint
from controller.wire.findings import Finding
from controller.wire.host_settings import HostSettings
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

log = logging.getLogger(__name__)

PAUSE = 0.1
"""Seconds between two exchanges, in which more news is collected."""

REST, LONGEST_REST = 4.0, 0.5
"""Factor and limit of the pause: it lasts `REST` times as long as the controller took to answer, if that is longer than
`PAUSE`, and at most `LONGEST_REST` seconds. Each exchange is a transaction that writes, and clients that make up
identifiers cause one exchange after another. A controller that is slow, for whatever reason, gets fewer of them."""

INTERVAL = 60.0
"""Seconds after which the agent asks the controller for news even if it has none itself."""

PATIENCE = 1.0
"""Seconds for which an unknown client waits for the controller's answer."""


_ENDS = 1.0  # seconds; leases that end within them are noted together


class Exchanges(Protocol):
    """The part of the controller's API that is needed here."""

    async def exchange(self, exchange: Exchange) -> Exchanged:
        """Exchange one message with the controller. Raises ControllerAway or ControllerRefused."""


def since_start() -> float:
    """Return the seconds since the machine started, asleep or not: a clock that nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def rest(took: float) -> float:
    """Return the seconds until the next exchange after one that took `took` seconds."""
    return max(PAUSE, min(REST * took, LONGEST_REST))


def offset(number: int, kind: Kind) -> int:
    """Return the distance of an address of a pair from the prefix's base, the same in both families."""
    return 2 + 2 * number + (kind == "vm")


class LeasedLan:
    """The leases of one endpoint. `run()` works until it is cancelled; clients get answers all the time. `told` is
    called when the settings for hosts have changed."""

    def __init__(
        self,
        endpoint: Endpoint,
        directory: Path,
        controller: Exchanges,
        clock: Callable[[], float] = since_start,
        sources: Sources | None = None,
        told: Callable[[], None] = lambda: None,
        ports: Ports = ONE_PORT,
    ) -> None:
        self._endpoint, self._controller, self._clock, self._sources = endpoint, controller, clock, sources
        self._told = told
        self._base = int(ip_network(endpoint.prefix, strict=False).network_address)
        self._length = ip_network(endpoint.prefix, strict=False).prefixlen
        self._journal = Journal(directory / f"{endpoint.name}.journal")
        if self._journal.records.get(("meta", "prefix"), endpoint.prefix) != endpoint.prefix:
            self._journal.clear()
        self._book = Book.kept(self._journal.records, self._journal.proven, clock())
        self._book.keep("meta", "prefix", endpoint.prefix)
        self._book.shares = Shares(ports)
        self._account = Account(self._book)
        self._clones = Clones()
        self._wake = asyncio.Event()
        self._asked: dict[Client, tuple[asyncio.Future[None], float]] = {}
        self._strangers: dict[Client, float] = {}
        self._away = False
        self._turn = 0

    # Clients.

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        """Offer a lease as LeaseSource.offer does."""
        client, wanted = self._client(request), self._wanted(request.address)
        await self._get_to_know(client)
        offered = self._book.offer(client, wanted[0] if wanted else None, self._clock())
        if self._account.due:
            self._wake.set()
        return self._grant(client, self._or_refuse(offered))

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """Grant a lease as LeaseSource.grant does."""
        client, wanted = self._client(request), self._wanted(request.address)
        await self._get_to_know(client)
        now = self._clock()
        answer = self._book.grant(client, request.hostname, wanted, request.renewing, now)
        if wanted is not None and (answer is None or answer[:2] != wanted) and self._away and not self._is_ours(wanted):
            raise NoAnswer(f"{request.address} may be this client's, and the controller cannot be asked")
        answer = self._or_refuse(answer)
        await self._save()
        self._wake.set()
        return self._grant(client, answer)

    async def release(self, release: LeaseRelease) -> None:
        """Release a lease as LeaseSource.release does."""
        wanted = self._wanted(release.address)
        if wanted is not None:
            self._book.release(Client(mac=release.mac, client_id=release.client_id), *wanted, self._clock())
            await self._save()
            self._wake.set()

    async def decline(self, release: LeaseRelease) -> None:
        """Decline an address as LeaseSource.decline does."""
        wanted, client = self._wanted(release.address), Client(mac=release.mac, client_id=release.client_id)
        if wanted is None or not self._book.decline(client, *wanted, self._clock()):
            text = "%s: %s says that %s is in use by somebody else; it is not believed (not its lease, or one too many)"
            log.info(text, self._endpoint.name, release.mac, release.address)
            return
        log.warning("%s: %s is in use by somebody else, says %s", self._endpoint.name, release.address, release.mac)
        await self._save()
        self._wake.set()

    @property
    def hosts(self) -> HostSettings:
        """The settings that hosts get with their address."""
        return self._book.hosts

    @property
    def held(self) -> int:
        """The number of leases that clients hold."""
        return self._book.held(self._clock())

    @property
    def findings(self) -> list[Finding]:
        """The findings about this LAN's clients."""
        name, now = self._endpoint.name, self._clock()
        return [*self._clones.findings(name, now), *self._book.shares.findings(name, now)]

    async def meet(self, client: Client) -> None:
        """Find out who this client is before it asks for an address, as far as that can be known within a moment."""
        await self._get_to_know(client)

    def leased(self, address: str, client: Client) -> bool:
        """Return whether a client has leased that address."""
        wanted = self._wanted(address)
        return wanted is not None and self._book.leased(client, *wanted, self._clock())

    # The controller.

    async def run(self) -> None:
        """Exchange news with the controller whenever there are any, and otherwise at intervals."""
        backoff = Backoff()
        while True:
            if not self._account.due and not self._asked:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._idle()):
                        await self._wake.wait()
            self._wake.clear()
            began = self._clock()
            well = await self._exchange(backoff)
            await asyncio.sleep(rest(self._clock() - began) if well else backoff.delay())

    def _idle(self) -> float:
        """Return the seconds to wait while nobody asks for anything. It is less than `INTERVAL` if a lease ends before,
        which the kernel has to know."""
        now = self._clock()
        end = self._book.next_end if self._sources is not None else inf
        return min(INTERVAL, max(_ENDS, end - now))

    async def close(self) -> None:
        """Wait until no write runs any more, and close the journal."""
        await self._journal.close()

    async def _exchange(self, backoff: Backoff) -> bool:
        """Exchange news once. Return whether that worked."""
        now = self._clock()
        self._book.tidy(now)
        self._turn = max(self._turn + 1, int(now * 1e6))
        asking = dict(self._asked)
        sent = self._account.exchange(self._endpoint.name, self._turn, list(asking), now)
        try:
            await self._save()
            answer = await self._controller.exchange(sent)
        except (ControllerAway, ControllerRefused, JournalError) as error:
            if not self._away:
                log.warning("%s: leases: %s", self._endpoint.name, error)
            self._away = True
            self._answered(asking, known=False)
            return False
        if self._away:
            log.info("%s: leases: the controller is back", self._endpoint.name)
        self._away = False
        backoff.reset()
        before = self.hosts
        self._account.hear(sent, answer, self._clock())
        if self.hosts != before:
            self._told()
        self._answered(asking, known=not (answer.anew or answer.resync))
        if answer.anew:
            log.warning("%s: leases: the controller counts this memory no longer; begun anew", self._endpoint.name)
        try:
            await self._save()
        except JournalError as error:
            log.error("%s", error)
            return False
        return True

    def _answered(self, asking: dict[Client, tuple["asyncio.Future[None]", float]], *, known: bool) -> None:
        now = self._clock()
        for client, (future, _) in asking.items():
            self._asked.pop(client, None)
            if known:
                self._strangers[client] = now + INTERVAL
            if not future.done():
                future.set_result(None)
        if len(self._strangers) > 1000:
            self._strangers = {client: until for client, until in self._strangers.items() if until > now}

    async def _get_to_know(self, client: Client) -> None:
        """Ask the controller who this client is, unless it has just answered that, and wait a moment for its answer.
        While the controller is away no client waits, but the agent asks all the same."""
        now = self._clock()
        if self._book.knows(client, now) or self._strangers.get(client, 0.0) > now:
            return
        if client not in self._asked:
            self._asked[client] = asyncio.get_running_loop().create_future(), now
            self._wake.set()
        future, since = self._asked[client]
        if not self._away and (patience := since + PATIENCE - now) > 0:
            await asyncio.wait([future], timeout=patience)

    async def _save(self) -> None:
        """Write all changes to the disk and to the kernel, before anybody hears of them."""
        records = self._book.records()
        if self._sources is None:
            await self._journal.keep(records)
            return
        now = self._clock()
        numbers = {int(key) for table, key, _ in records if table == "pair"}
        halves = {(n, kind): self._book.holder(n, kind, now) for n in numbers for kind in KINDS}
        clients = {offset(*half): client for half, client in halves.items()}
        more = (self._ranges(), self._book.bound) if any(table in ("block", "meta") for table, _, _ in records) else ()
        await asyncio.gather(self._journal.keep(records), self._sources.change(self._endpoint.name, clients, *more))

    async def publish(self) -> None:
        """Pass to the kernel which client has leased which address."""
        if self._sources is not None:
            now, book = self._clock(), self._book
            found = ((offset(n, kind), book.holder(n, kind, now)) for n in book.pairs for kind in KINDS)
            clients = {at: client for at, client in found if client is not None}
            await self._sources.lease(self._endpoint.name, Leased(clients, self._ranges(), book.bound))

    def _ranges(self) -> tuple[tuple[int, int], ...]:
        return tuple((offset(low, "md"), offset(high, "vm")) for low, high in self._book.room.given_out())

    # Addresses.

    def _client(self, request: LeaseRequest) -> Client:
        client = Client(mac=request.mac, client_id=request.client_id)
        self._clones.note(client, self._clock())
        return client

    def _wanted(self, address: str | None) -> tuple[int, Kind] | None:
        """Return the pair's number and the half to which an address belongs."""
        if address is None:
            return None
        offset = int(ip_address(address)) - self._base - 2
        return (offset // 2, "vm" if offset % 2 else "md") if offset >= 0 else None

    def _is_ours(self, wanted: tuple[int, Kind]) -> bool:
        """Return whether only this agent gives out that address: it then knows that the address is not the client's."""
        return self._book.room.holds(wanted[0])

    def _or_refuse(self, answer: Answer | None) -> Answer:
        if answer is not None:
            return answer
        if self._away:
            raise NoAnswer("no address can be given out now, and the controller cannot be asked")
        raise LeaseRefused(f"no pair of {self._endpoint.prefix} is free for this client")

    def _grant(self, client: Client, answer: Answer) -> LeaseGrant:
        number, kind, device = answer
        return LeaseGrant(
            address=str(ip_address(self._base + offset(number, kind))),
            prefix_length=self._length,
            gateway=self._endpoint.gateway,
            kind=kind,
            device=device or client.mac or client.client_id or "",
            seconds=self._book.seconds,
        )
