"""A LAN, its agent, the controller and its database, and clients with clocks of their own: real decisions on both
sides and the real database, simulated time, disks and messages."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf

import pytest

from agents.leases.account import Account
from agents.leases.book import Book
from agents.leases.pair import Kind
from controller.core.addresses import AddressPlan
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.core.refusals import Refused
from controller.db import devices, intents
from controller.db import leases as table
from controller.db.engine import Database
from controller.leases import delegations as delegations_module
from controller.leases import leases as leases_module
from controller.leases import static_hosts as statics_module
from controller.leases.delegations import Delegations
from controller.leases.devices import know
from controller.leases.leases import Leases
from controller.leases.static_hosts import StaticHosts
from controller.runtime.wakeup import Wakeup
from controller.wire.delegations import Client, Exchange, Exchanged
from controller.wire.flavours import Flavour

SECONDS = 600
PREFIX = "10.1.0.0/26"
LAN = "lan"
PLAN = AddressPlan.of(PREFIX)
DAWN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Machine:
    """A DHCP client: the pair and half that it holds by its own count, and the half of a registered device that it is
    known as."""

    number: int
    holds: tuple[int, Kind] | None = None
    until: float = 0.0
    remembers: tuple[int, Kind] | None = None
    registered: tuple[str, Kind] | None = None

    @property
    def client(self) -> Client:
        return Client(mac=f"02:00:5e:00:00:{self.number:02x}")


@dataclass
class Disk:
    """The agent's disk: its records, and the number of writes."""

    records: dict[tuple[str, str], str] = field(default_factory=dict)
    writes: int = 0

    def copy(self) -> "Disk":
        return Disk(dict(self.records), self.writes)


class World:
    """The whole world; `time` is the same for all parts. The machine's monotonic clock began at `booted`; the
    controller's wall clock is `skew` ahead."""

    def __init__(self, url: str, patch: pytest.MonkeyPatch, clients: int = 10) -> None:
        self.time, self.booted, self.skew, self.proof = 10_000.0, 0.0, 0.0, 0.0
        self.machines = [Machine(number) for number in range(clients)]
        self.granted: dict[tuple[int, Kind], tuple[str, float]] = {}
        self.disk, self.late = Disk(), list[Exchange]()
        self.url, self.turn = url, 0
        cloudlet = Cloudlet("c1", Flavour.VPLS, "192.0.2.1", CloudletState.ACTIVE, "x")
        endpoint = Endpoint(LAN, "c1", 1, 1, PREFIX, "10.1.0.1", lease_seconds=SECONDS)
        self.intent = Intent(1, {"c1": cloudlet}, {LAN: endpoint})
        for module in (delegations_module, leases_module, statics_module):
            patch.setattr(module, "now", lambda: DAWN + timedelta(seconds=self.time + self.skew))
        self.start_agent(proven=True)

    async def found(self) -> None:
        self.open()
        async with self.database.write() as session:
            await intents.save(session, Intent(), self.intent)

    def open(self) -> None:
        """Start a new controller."""
        self.database = Database(self.url)
        wakeup = Wakeup()
        self.leases = Leases(self.database, lambda: self.intent, wakeup)
        self.statics = StaticHosts(self.database, lambda: self.intent, wakeup)
        self.delegations = Delegations(self.database, lambda: self.intent, self.leases, wakeup, lambda: self.time)

    # The agent.

    @property
    def clock(self) -> float:
        return self.time - self.booted

    def start_agent(self, *, proven: bool) -> None:
        records = {key: json.loads(text) for key, text in self.disk.records.items()}
        proven = proven and self.disk.writes >= self.proof
        if not proven:
            self.proof = inf  # until a record is written
        self.book = Book.kept(records, proven, self.clock)
        self.account = Account(self.book)

    def save(self) -> None:
        for table_, key, value in self.book.records():
            self.disk.writes += 1
            if value is None:
                self.disk.records.pop((table_, key), None)
            else:
                self.disk.records[table_, key] = json.dumps(value)
        self.proof = self.disk.writes

    async def exchange(self, fate: str = "ok", ask: list[Client] | None = None) -> None:
        """Exchange once. `fate`: "lost" on the way there, "unheard" on the way back, or "late"."""
        self.book.tidy(self.clock)
        self.turn += 1
        sent = Exchange.model_validate_json(
            self.account.exchange(LAN, self.turn, ask or [], self.clock).model_dump_json()
        )
        self.save()
        if fate == "late":
            self.late.append(sent)
        if fate in ("late", "lost"):
            return
        answer = await self.deliver(sent)
        if answer is not None and fate == "ok":
            self.account.hear(sent, answer, self.clock)
            self.save()

    async def deliver(self, sent: Exchange) -> Exchanged | None:
        try:
            answer, _ = await self.delegations.exchange(self.intent.endpoints[LAN], sent)
        except Refused:
            return None
        return Exchanged.model_validate_json(answer.model_dump_json())

    # Clients.

    def offer(self, machine: Machine) -> tuple[int, Kind] | None:
        offered = self.book.offer(machine.client, None, self.clock)
        return offered[:2] if offered else None

    def request(self, machine: Machine, wanted: tuple[int, Kind], *, renewing: bool, fate: str) -> None:
        """Let a client request a lease. `fate`: "unheard" if the answer is lost, "crash" if the agent dies before the
        lease is on the disk."""
        now = self.time
        answer = self.book.grant(machine.client, None, wanted, renewing, self.clock)
        if fate == "crash":
            self.start_agent(proven=True)
            return
        self.save()
        if answer is None or fate == "unheard":
            return
        if answer[:2] == wanted:
            machine.holds = machine.remembers = wanted
            machine.until = now + SECONDS
        elif machine.holds == wanted:
            machine.holds = None  # NAK

    def release(self, machine: Machine) -> None:
        assert machine.holds is not None
        self.book.release(machine.client, *machine.holds, self.clock)
        self.save()
        machine.holds = None

    def decline(self, machine: Machine) -> None:
        """Let a client decline its address: the client does not use it, whether the agent accepts the decline or
        not."""
        assert machine.holds is not None
        self.book.decline(machine.client, *machine.holds, self.clock)
        self.save()
        machine.holds = None

    # Operators.

    async def register(self, name: str, md: Machine, vm: Machine | None) -> None:
        try:
            async with self.database.write() as session:
                if await devices.get(session, name) is not None:
                    return
                devices.add(session, name)
                await session.flush()
                await know(session, name, "md", md.client.mac, None)
                if vm is not None:
                    await know(session, name, "vm", vm.client.mac, None)
        except Refused:
            return
        md.registered = name, "md"
        if vm is not None:
            vm.registered = name, "vm"

    async def grant(self, name: str, kind: Kind) -> None:
        try:
            lease, _ = await self.leases.grant(LAN, name, kind)
        except Refused:
            return
        half = (int(lease.address.rpartition(".")[2]) - 2) // 2, kind
        self.granted[half] = name, self.time + SECONDS

    async def sweep(self) -> None:
        await self.leases.sweep()
        await self.statics.sweep()
        await self.delegations.rest()

    # What must hold.

    def holders(self) -> dict[tuple[int, Kind], set[str]]:
        """Return the holders of each address now."""
        found: dict[tuple[int, Kind], set[str]] = {}
        for machine in self.machines:
            if machine.holds is not None and machine.until > self.time:
                name = "{} {}".format(*machine.registered) if machine.registered else f"client {machine.number}"
                found.setdefault(machine.holds, set()).add(name)
        for half, (device, until) in self.granted.items():
            if until > self.time and self.skew <= 0:
                found.setdefault(half, set()).add(f"{device} {half[1]}")
        return found

    async def table(self) -> dict[str, str | None]:
        """Return the controller's list of leases: address and MAC."""
        async with self.database.read() as session:
            rows = await table.page(session, 0, 1000, DAWN, LAN, None)
        return {row.address: row.mac for row in rows}
