"""Leases: the answers of the address plan, on record. Each call is one transaction; the database keeps pairs unique."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.addresses import Kind
from controller.core.blocks import SIZE, Ranges
from controller.core.clock import now
from controller.core.event_budget import of_endpoint
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import conflict, missing, unknown
from controller.core.unavailable import Beaten
from controller.db import blocks, delegations, devices, endpoints, events, leases, names, pairs
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.db.pairs import PairRow
from controller.runtime.wakeup import Wakeup

T = TypeVar("T")

LOOK = 64
"""Blocks that are searched at once for a free pair."""


@dataclass(frozen=True)
class Client:
    """The client that asks: a device's MD or VM, and how it is known on the wire."""

    device: str
    kind: Kind
    mac: str | None = None
    client_id: str | None = None
    hostname: str | None = None


class Leases:
    """Grants, renews and ends leases. `intent` returns the endpoints as they are now. `tell` tells other replicas which
    endpoint's agent has told all its leases."""

    def __init__(
        self,
        database: Database,
        intent: Callable[[], Intent],
        wakeup: Wakeup,
        tell: Callable[[str], None] = lambda endpoint: None,
    ) -> None:
        self._database, self._intent, self._wakeup, self._tell = database, intent, wakeup, tell
        self.heard: set[str] = set()
        """The endpoints whose agents have told this controller, or another replica, all their leases."""

    def hear(self, endpoint: str) -> None:
        """Record that the endpoint's agent has told all its leases."""
        if endpoint not in self.heard:
            self.heard.add(endpoint)
            self._tell(endpoint)

    async def ask(
        self, endpoint: str, mac: str | None, client_id: str | None, hostname: str | None
    ) -> tuple[LeaseRow, bool]:
        """Grant or renew a lease for the client with this MAC or client id; an unknown client becomes a device of its
        own. Returns the lease and whether it is new. Only agents of a former release ask, so a delegation of the
        endpoint ends."""

        async def work(session: AsyncSession) -> tuple[LeaseRow, bool]:
            await delegations.rest(session, endpoint, now())
            known = await devices.known_as(session, mac, client_id)
            if known is None:
                device = await self._implicit(session, mac, client_id)
                return await self._grant(session, endpoint, Client(device, "md", mac, client_id, hostname))
            return await self._grant(session, endpoint, Client(known.device, known.kind, mac, client_id, hostname))

        return await self._granted(work)

    async def grant(self, endpoint: str, device: str, kind: Kind) -> tuple[LeaseRow, bool]:
        """Grant or renew a lease for a device by its name."""

        async def work(session: AsyncSession) -> tuple[LeaseRow, bool]:
            if await devices.get(session, device) is None:
                raise await names.unknown(session, "device", "device", device)
            known = (await devices.clients(session, [device])).get((device, kind))
            client = Client(device, kind, known.mac if known else None, known.client_id if known else None)
            return await self._grant(session, endpoint, client)

        return await self._granted(work)

    async def renew(self, number: int, check: Callable[[LeaseRow], None]) -> LeaseRow:
        """Start the lease time anew."""

        async def work(session: AsyncSession) -> LeaseRow:
            lease = await self._held(session, number)
            check(lease)
            return await self._extend(session, lease, self._endpoint(lease.endpoint), now())

        return await self._database.transact(work)

    async def release(self, number: int, check: Callable[[LeaseRow], None]) -> None:
        """End a lease. The pair stays the device's until another device needs it."""

        async def work(session: AsyncSession) -> None:
            lease = await self._held(session, number)
            check(lease)
            await self._end(session, lease, "released", caused_by=None)

        await self._database.transact(work)
        self._wakeup.ring()

    async def give_back(self, endpoint: str, address: str, mac: str, client_id: str | None) -> None:
        """End the lease on an address if this client holds it; otherwise do nothing (RFC 2131, 4.3.4)."""

        async def work(session: AsyncSession) -> bool:
            lease = await leases.at_address(session, endpoint, address)
            known = await devices.known_as(session, mac, client_id)
            if lease is None or known is None or (lease.device, lease.kind) != (known.device, known.kind):
                return False
            await self._end(session, lease, "released", caused_by=of_endpoint(endpoint))
            return True

        if await self._database.transact(work):
            self._wakeup.ring()

    async def sweep(self) -> int:
        """Remove leases whose time is over; return how many."""
        async with self._database.read() as session:
            if not await leases.any_expired(session, now()):
                return 0

        async def work(session: AsyncSession) -> int:
            gone = await leases.remove_expired(session, now())
            for lease in gone:
                await self._note(session, lease, "expired", of_endpoint(lease.endpoint))
            return len(gone)

        count = await self._database.transact(work)
        self._wakeup.ring()
        return count

    async def _granted(self, work: Callable[[AsyncSession], Awaitable[tuple[LeaseRow, bool]]]) -> tuple[LeaseRow, bool]:
        lease, fresh = await self._database.transact(work)
        if fresh:
            self._wakeup.ring()
        return lease, fresh

    async def _grant(self, session: AsyncSession, name: str, client: Client) -> tuple[LeaseRow, bool]:
        endpoint, at = self._endpoint(name), now()
        ranges = self._ranges(endpoint)
        plan = ranges.plan
        pair = await self.pair(session, name, client.device, at)
        lease = await leases.of(session, pair.id, client.kind)
        if lease is not None and lease.expires_at > at:
            lease.mac, lease.client_id = client.mac or lease.mac, client.client_id or lease.client_id
            lease.hostname = client.hostname or lease.hostname
            return await self._extend(session, lease, endpoint, at), False
        if lease is not None:
            await leases.remove(session, lease)
        lease = LeaseRow(
            pair=pair.id,
            endpoint=name,
            device=client.device,
            kind=client.kind,
            address=str(plan.address(pair.number, client.kind)),
            mac=client.mac,
            client_id=client.client_id,
            hostname=client.hostname,
            granted_at=at,
            expires_at=at + timedelta(seconds=ranges.lease_seconds),
            promised_until=at + timedelta(seconds=ranges.lease_seconds),
            revision=1,
        )
        session.add(lease)
        await session.flush()
        await self._note(session, lease, "granted", of_endpoint(lease.endpoint))
        return lease, True

    async def pair(self, session: AsyncSession, endpoint: str, device: str, at: datetime) -> PairRow:
        """Return the pair that a device has at an endpoint, a new one if it has none. No other transaction takes the
        pair before this one ends. Raises Refused when no pair is left."""
        ranges = self._ranges(self._endpoint(endpoint))
        found = await pairs.of(session, endpoint, device)
        if found is None:
            return await self._new_pair(session, ranges, endpoint, device, at)
        if not await pairs.touch(session, found, at):
            raise Beaten(f"pair {found.number} of {endpoint} has just been taken from {device}")
        return found

    async def _new_pair(
        self, session: AsyncSession, ranges: Ranges, endpoint: str, device: str, at: datetime
    ) -> PairRow:
        await endpoints.lock(session, endpoint)
        shared = await delegations.any_of(session, endpoint)
        if shared and endpoint not in self.heard:
            raise conflict(
                f"the agent of {endpoint} has not yet said which addresses it gave out; try again", "endpoint"
            )
        number = ranges.reserved.get(device)
        if number is not None:
            if number in await pairs.numbered(session, endpoint, [number]):
                number = None
            elif (await blocks.owners(session, endpoint, [number // SIZE])).get(number // SIZE):
                address = ranges.plan.address(number, "md")
                raise conflict(
                    f"{address}, reserved for {device}, is the agent's to give: it has to ask there", "device"
                )
        if number is None:
            number = await self._free_number(session, ranges, endpoint, ranges.shared if shared else 0)
        if number is None:
            idle = await pairs.idle(session, endpoint, at)
            if idle is None:
                rest = " or for the agent to give out" if shared else ""
                network = ranges.plan.network
                raise conflict(
                    f"all {ranges.plan.capacity} pairs of {network} at {endpoint} are in use{rest}", "endpoint"
                )
            number, loser = idle.number, idle.device
            if not await pairs.take_idle(session, [idle.id], at, pairs.unlent()):
                raise Beaten(f"the client of pair {number} of {endpoint} came back")
            if loser is not None:
                await pairs.tidy(session, [loser])
        return await pairs.give(session, endpoint, device, number)

    async def _free_number(self, session: AsyncSession, ranges: Ranges, endpoint: str, start: int) -> int | None:
        """Return a free pair: of the controller's own blocks or, from block `start` on, of those without owner."""
        own = await pairs.rooms(session, endpoint, LOOK)
        taken = await pairs.taken(session, endpoint, own)
        for block in own:
            for number in ranges.free(block, taken):
                return number
        while fresh := await blocks.nobodys(session, endpoint, ranges.total, LOOK, start):
            for block in fresh:
                for number in ranges.free(block):
                    return number
            start = fresh[-1] + 1
        return None

    def seconds(self, endpoint: Endpoint) -> int:
        """Return the lease time of an endpoint in seconds."""
        return self._ranges(endpoint).lease_seconds

    def _ranges(self, endpoint: Endpoint) -> Ranges:
        return Ranges.of(endpoint, self._intent().policy.addresses)

    async def _implicit(self, session: AsyncSession, mac: str | None, client_id: str | None) -> str:
        name = "dev-" + re.sub("[^0-9a-f]", "", mac or client_id or "")[:40]
        if await devices.get(session, name) is not None:
            raise conflict(f"a device that is not {mac} has its name, {name}", "mac")
        devices.add(session, name, implicit=True)
        await session.flush()
        devices.add_client(session, name, "md", mac, client_id)
        return name

    async def _extend(self, session: AsyncSession, lease: LeaseRow, endpoint: Endpoint, at: datetime) -> LeaseRow:
        lease.expires_at = lease.promised_until = at + timedelta(seconds=self._ranges(endpoint).lease_seconds)
        lease.revision += 1
        await session.flush()
        return lease

    async def _end(self, session: AsyncSession, lease: LeaseRow, how: str, caused_by: str | None) -> None:
        if await leases.remove(session, lease):
            await self._note(session, lease, how, caused_by)

    async def _note(self, session: AsyncSession, lease: LeaseRow, how: str, caused_by: str | None) -> None:
        text = f"{lease.address} at {lease.endpoint} {how}: {lease.kind} of {lease.device}"
        data = {"endpoint": lease.endpoint, "address": lease.address, "kind": lease.kind, "mac": lease.mac}
        await events.add(session, f"lease-{how}", lease.device, text, caused_by=caused_by, **data)

    async def _held(self, session: AsyncSession, number: int) -> LeaseRow:
        lease = await leases.get(session, number, now(), lock=True)
        if lease is None:
            raise missing("lease", str(number))
        return lease

    def _endpoint(self, name: str) -> Endpoint:
        intent = self._intent()
        endpoint = intent.endpoints.get(name)
        if endpoint is None:
            raise unknown("endpoint", "endpoint", name, intent.endpoints)
        cloudlet = intent.cloudlets[endpoint.cloudlet]
        if not cloudlet.speaks:
            raise conflict(f"{name} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}", "endpoint")
        return endpoint
