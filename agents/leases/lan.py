"""One LAN's leases: its book, its journal, and the exchange with the controller that keeps both sides in step."""

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
"""Seconds between two exchanges, in which more comes together."""

REST, LONGEST_REST = 4.0, 0.5
"""The pause is so many times as long as the controller took to answer, if that is longer, and so many seconds at most.
Each exchange is a transaction that writes, and clients that make up identifiers cause one after the other: a controller
that is slow for it, or for whatever reason, hears less often of more."""

INTERVAL = 60.0
"""Seconds after which the controller is asked for news all the same."""

PATIENCE = 1.0
"""Seconds for which a client that nobody here knows waits for the controller's word."""


_ENDS = 1.0  # seconds in which leases that end are noted together


class Exchanges(Protocol):
    """The controller, as far as it is needed here."""

    async def exchange(self, exchange: Exchange) -> Exchanged:
        """Raises ControllerAway or ControllerRefused."""


def since_start() -> float:
    """Seconds since the machine started, asleep or not: a clock that nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def rest(took: float) -> float:
    """Seconds until the next exchange after one that took so long."""
    return max(PAUSE, min(REST * took, LONGEST_REST))


def offset(number: int, kind: Kind) -> int:
    """How far an address of a pair is from the prefix's base, in either family."""
    return 2 + 2 * number + (kind == "vm")


class LeasedLan:
    """The leases of one endpoint. `run()` works until it is cancelled; what clients want is answered all the while.
    `told` is called when hosts are to be told something else than before."""

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
        """As LeaseSource."""
        client, wanted = self._client(request), self._wanted(request.address)
        await self._get_to_know(client)
        offered = self._book.offer(client, wanted[0] if wanted else None, self._clock())
        if self._account.due:
            self._wake.set()
        return self._grant(client, self._or_refuse(offered))

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """As LeaseSource."""
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
        """As LeaseSource."""
        wanted = self._wanted(release.address)
        if wanted is not None:
            self._book.release(Client(mac=release.mac, client_id=release.client_id), *wanted, self._clock())
            await self._save()
            self._wake.set()

    async def decline(self, release: LeaseRelease) -> None:
        """As LeaseSource."""
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
        """What hosts are told beside their address."""
        return self._book.hosts

    @property
    def findings(self) -> list[Finding]:
        """What people are to be told of this LAN's clients."""
        name, now = self._endpoint.name, self._clock()
        return [*self._clones.findings(name, now), *self._book.shares.findings(name, now)]

    async def meet(self, client: Client) -> None:
        """Finds out who will ask for an address before long, as far as that can be told within a moment."""
        await self._get_to_know(client)

    # The controller.

    async def run(self) -> None:
        """Exchanges news with the controller whenever there are any, and else from time to time."""
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
        """Seconds until there is something to do unless somebody comes: a lease is over, say, which the kernel has to
        know."""
        now = self._clock()
        end = self._book.next_end if self._sources is not None else inf
        return min(INTERVAL, max(_ENDS, end - now))

    async def close(self) -> None:
        """Finishes what is being written."""
        await self._journal.close()

    async def _exchange(self, backoff: Backoff) -> bool:
        """Returns whether all is well."""
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
        """Asks the controller who this is, unless it has just said so, and waits a moment for its answer. While it is
        away nobody waits; it is asked all the same."""
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
        """On the disk, and in the kernel, before anybody hears of it."""
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
        """Says who has leased what, for the kernel."""
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
        """The pair's number and half that an address is."""
        if address is None:
            return None
        offset = int(ip_address(address)) - self._base - 2
        return (offset // 2, "vm" if offset % 2 else "md") if offset >= 0 else None

    def _is_ours(self, wanted: tuple[int, Kind]) -> bool:
        """Whether this agent knows that an address is not the client's: nobody but it gives it out."""
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
