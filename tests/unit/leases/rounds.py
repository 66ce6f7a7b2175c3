"""Rounds of requests that arrive at two controllers at the same moment."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from agents.leases.pair import Kind
from controller.core.intent import Intent
from controller.db import intents
from controller.wire.delegations import Exchange
from tests.unit.leases.held import check
from tests.unit.leases.replica import Replica
from tests.unit.leases.site import Site
from tests.unit.leases.world import SECONDS

CLIENTS, DEVICES = 20, 8
SPREAD = 0.01
"""Seconds over which the requests of a round begin: the duration of one request."""

Work = Coroutine[Any, Any, object]


class Rounds:
    """Two LANs with the same clients. `restarts` are the kinds of restart of agents (`Site.restart`); `taken` and
    `granted` count exchanges and grants."""

    def __init__(self, url: str, seed: int, patch: pytest.MonkeyPatch, restarts: list[str]) -> None:
        self.random, self.restarts = Random(seed), restarts
        self.sites = [Site(number, url, patch, CLIENTS) for number in (1, 2)]
        self.intent = Intent(
            1, {s.cloudlet.name: s.cloudlet for s in self.sites}, {s.lan: s.endpoint for s in self.sites}
        )
        self.replicas: list[Replica] = []
        for _ in range(2):
            self.replicas.append(Replica(url, self.intent, lambda: self.sites[0].time, self.replicas))
        self.late: list[tuple[Site, Exchange, float]] = []
        self.taken = self.granted = 0

    async def begin(self, *, agents: bool) -> None:
        """Fill the database; with `agents`, the agents get their blocks before any other request."""
        async with self.replicas[0].database.write() as session:
            await intents.save(session, Intent(), self.intent)
        for number in range(DEVICES // 2):
            await self.register(number, self.replicas[0])
        if agents:
            await self.settle()

    async def settle(self) -> None:
        """Let all parts recover: the controllers then know all leases that agents have answered."""
        for replica in self.replicas * 20:
            for site in self.sites:
                await site.tell([replica], [])
            if not any(site.account.due for site in self.sites):
                break
        assert not any(site.book.changed for site in self.sites)
        await check(self.replicas[0].database, self.sites)

    async def close(self) -> None:
        for replica in self.replicas:
            await replica.close()

    async def round(self) -> None:
        random = self.random
        passed = random.choice([0, 1, 1, 40, 40, 200, 350, SECONDS + 1])
        works = [work for site in self.sites for work in self.of(site, passed)]
        for _ in range(random.randrange(4)):
            works += random.choice([self.registration, self.grants])()
        self.late = [late for late in self.late if late[2] + SECONDS > self.sites[0].time]
        if self.late and random.random() < 0.4:
            site, sent, _ = self.late.pop(random.randrange(len(self.late)))
            works.append(random.choice(self.replicas).exchange(site.endpoint, sent))
        if random.random() < 0.4:
            works += [replica.sweep() for replica in self.some()]
        if random.random() < 0.15:
            works.append(random.choice(self.replicas).end())
        random.shuffle(works)
        await asyncio.gather(*(_after(random.random() * SPREAD, work) for work in works))
        await check(self.replicas[0].database, self.sites)

    def some(self) -> list[Replica]:
        """Return the first controller, the second, or both."""
        return self.random.choice([self.replicas[:1], self.replicas[1:], self.replicas])

    def of(self, site: Site, passed: int) -> list[Work]:
        """Return the work of a LAN: clients, and exchanges."""
        random, works = self.random, list[Work]()
        site.time += passed
        for _ in range(random.randrange(8)):
            what = random.choice(["discover", "discover", "discover", "renew", "renew", "reboot", "release"])
            fate = random.choice(["ok", "ok", "ok", "unheard", "crash"])
            works.append(self.client(site, random.randrange(CLIENTS), what, fate))
        if random.random() < 0.12:
            works.append(self.restart(site, random.choice(self.restarts)))
        if site.partition:
            site.partition -= 1
            return works
        one, other = random.sample(self.replicas, 2)
        match random.choice(["once"] * 4 + ["again"] * 5 + ["twice"] * 2 + ["late"] * 2 + ["cut off"] * 2):
            case "once":
                return [*works, self.tell(site, one)]
            case "again":
                return [*works, self.tell(site, one), self.tell(site, other)]
            case "twice":
                return [*works, self.tell(site, one, other)]
            case "late":
                return [*works, self.lose(site)]
        site.partition = random.randrange(1, 5)
        return works

    async def client(self, site: Site, number: int, what: str, fate: str) -> None:
        print(f"{site.time:.0f} {site.lan}: client {number} wants to {what}, {fate}")
        site.want(number, what, fate)

    async def restart(self, site: Site, how: str) -> None:
        print(f"{site.time:.0f} {site.lan}: {how}")
        site.restart(how)

    async def lose(self, site: Site) -> None:
        """Delay an exchange: it arrives later, at any controller, within a lease time."""
        self.late.append((site, site.send([]), site.time))

    async def tell(self, site: Site, *replicas: Replica) -> None:
        answers = await site.tell(replicas, [machine.client for machine in site.machines[::4]])
        taken = [answer for answer in answers if not (answer.anew or answer.resync)]
        print(f"{site.time:.0f} {site.lan}: exchange {site.turn}, {len(taken)} of {len(replicas)} took it in")
        assert len(taken) <= 1, "one exchange was taken in twice"
        self.taken += len(taken)

    def registration(self) -> list[Work]:
        number = self.random.randrange(DEVICES)
        return [self.register(number, replica) for replica in self.some()]

    async def register(self, number: int, replica: Replica) -> None:
        md, vm = self.sites[0].machines[2 * number : 2 * number + 2]
        await replica.register(f"m{number}", md.client, vm.client)

    def grants(self) -> list[Work]:
        """Grant addresses to several devices at one LAN at the same time."""
        kinds: list[Kind] = ["md", "vm"]
        site = self.random.choice(self.sites)
        numbers = self.random.sample(range(DEVICES), self.random.randrange(1, 5))
        return [_together([self.grant(site, f"m{n}", self.random.choice(kinds), self.some()) for n in numbers])]

    async def grant(self, site: Site, device: str, kind: Kind, replicas: list[Replica]) -> None:
        answers = await asyncio.gather(*(replica.grant(site.lan, device, kind) for replica in replicas))
        addresses = {address for address in answers if address is not None}
        print(f"{site.time:.0f} {site.lan}: {device}'s {kind} was granted {addresses}")
        assert len(addresses) <= 1, "a device was granted two addresses"
        for address in addresses:
            half = (int(address.rpartition(".")[2]) - 2) // 2, kind
            other, until = site.granted.get(half, (device, 0.0))
            assert other == device or until <= site.time, f"{address} was granted to {device}, and is {other}'s"
            site.granted[half] = device, site.time + SECONDS
            self.granted += 1


async def _after(seconds: float, work: Work) -> None:
    await asyncio.sleep(seconds)
    await work


async def _together(works: list[Work]) -> None:
    await asyncio.gather(*works)
