"""Leases: the address plan's answers, kept. Each call is one transaction; uniqueness is the database's."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.bell import Bell
from controller.core.addresses import AddressPlan, Kind
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import conflict, invalid, missing
from controller.db import devices, events, leases, pairs
from controller.db.base import now
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.db.pairs import PairRow

T = TypeVar("T")

ATTEMPTS = 3
"""Tries of a grant that loses a race for a pair to another controller."""


@dataclass(frozen=True)
class Client:
    """Who asks: a device's MD or VM, and how it is known on the wire."""

    device: str
    kind: Kind
    mac: str | None = None
    client_id: str | None = None
    hostname: str | None = None


class Leases:
    """Grants, renews and takes back. `intent` gives the endpoints as they are now."""

    def __init__(self, database: Database, intent: Callable[[], Intent], bell: Bell) -> None:
        self._database, self._intent, self._bell = database, intent, bell

    async def ask(
        self, endpoint: str, mac: str | None, client_id: str | None, hostname: str | None
    ) -> tuple[LeaseRow, bool]:
        """Grants or renews for whoever goes by this MAC or client id; somebody unknown becomes a device of its own.
        Returns the lease and whether it is new."""

        async def work(session: AsyncSession) -> tuple[LeaseRow, bool]:
            known = await devices.known_as(session, mac, client_id)
            if known is None:
                device = await self._implicit(session, mac, client_id)
                return await self._grant(session, endpoint, Client(device, "md", mac, client_id, hostname))
            return await self._grant(session, endpoint, Client(known.device, known.kind, mac, client_id, hostname))

        return await self._retrying(work)

    async def grant(self, endpoint: str, device: str, kind: Kind) -> tuple[LeaseRow, bool]:
        """Grants or renews for a device by its name."""

        async def work(session: AsyncSession) -> tuple[LeaseRow, bool]:
            if await devices.get(session, device) is None:
                raise invalid("device", f"there is no device {device!r}")
            known = (await devices.clients(session, [device])).get((device, kind))
            client = Client(device, kind, known.mac if known else None, known.client_id if known else None)
            return await self._grant(session, endpoint, client)

        return await self._retrying(work)

    async def renew(self, number: int, check: Callable[[LeaseRow], None]) -> LeaseRow:
        """Starts the lease time anew."""
        async with self._database.write() as session:
            lease = await self._held(session, number)
            check(lease)
            return await self._extend(session, lease, self._endpoint(lease.endpoint), now())

    async def release(self, number: int, check: Callable[[LeaseRow], None]) -> None:
        """Ends a lease. The pair stays the device's until somebody needs it."""
        async with self._database.write() as session:
            lease = await self._held(session, number)
            check(lease)
            await self._end(session, lease, "released")
        self._bell.ring()

    async def give_back(self, endpoint: str, address: str, mac: str, client_id: str | None) -> None:
        """Ends the lease on an address if it is held by who says so; else there is nothing to do (RFC 2131, 4.3.4)."""
        async with self._database.write() as session:
            lease = await leases.at_address(session, endpoint, address)
            known = await devices.known_as(session, mac, client_id)
            if lease is None or known is None or (lease.device, lease.kind) != (known.device, known.kind):
                return
            await self._end(session, lease, "released")
        self._bell.ring()

    async def sweep(self) -> int:
        """Removes leases whose time is over; returns how many."""
        async with self._database.read() as session:
            if not await leases.expired(session, now(), limit=1):
                return 0
        async with self._database.write() as session:
            found = await leases.expired(session, now())
            for lease in found:
                await self._end(session, lease, "expired")
        self._bell.ring()
        return len(found)

    async def _retrying(
        self, work: Callable[[AsyncSession], Awaitable[tuple[LeaseRow, bool]]]
    ) -> tuple[LeaseRow, bool]:
        for left in reversed(range(ATTEMPTS)):
            try:
                async with self._database.write() as session:
                    lease, fresh = await work(session)
                if fresh:
                    self._bell.ring()
                return lease, fresh
            except IntegrityError:
                if not left:
                    raise
        raise AssertionError("unreachable")

    async def _grant(self, session: AsyncSession, name: str, client: Client) -> tuple[LeaseRow, bool]:
        endpoint, at = self._endpoint(name), now()
        plan = AddressPlan.of(endpoint.prefix)
        pair = await pairs.of(session, name, client.device) or await self._new_pair(session, plan, name, client, at)
        await pairs.touch(session, pair, at)
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
            expires_at=at + timedelta(seconds=endpoint.lease_seconds),
            revision=1,
        )
        session.add(lease)
        await session.flush()
        await self._note(session, lease, "granted")
        return lease, True

    async def _new_pair(
        self, session: AsyncSession, plan: AddressPlan, endpoint: str, client: Client, at: datetime
    ) -> PairRow:
        number = await pairs.free_number(session, endpoint, plan.capacity)
        if number is None:
            idle = await pairs.idle(session, endpoint, at)
            if idle is None:
                raise conflict(f"all {plan.capacity} pairs of {plan.network} at {endpoint} are in use", "endpoint")
            number, loser = idle.number, idle.device
            await pairs.take(session, idle)
            await self._tidy(session, loser)
        return await pairs.give(session, endpoint, client.device, number)

    async def _tidy(self, session: AsyncSession, device: str) -> None:
        """A device that nobody registered is remembered for as long as it has a pair somewhere."""
        row = await devices.get(session, device)
        if row is not None and row.implicit and not await pairs.count(session, device):
            await devices.remove(session, device)

    async def _implicit(self, session: AsyncSession, mac: str | None, client_id: str | None) -> str:
        name = "dev-" + re.sub("[^0-9a-f]", "", mac or client_id or "")[:40]
        if await devices.get(session, name) is not None:
            raise conflict(f"a device that is not {mac} has its name, {name}", "mac")
        devices.add(session, name, implicit=True)
        await session.flush()
        devices.add_client(session, name, "md", mac, client_id)
        return name

    async def _extend(self, session: AsyncSession, lease: LeaseRow, endpoint: Endpoint, at: datetime) -> LeaseRow:
        lease.expires_at = at + timedelta(seconds=endpoint.lease_seconds)
        lease.revision += 1
        await session.flush()
        return lease

    async def _end(self, session: AsyncSession, lease: LeaseRow, how: str) -> None:
        await leases.remove(session, lease)
        await self._note(session, lease, how)

    async def _note(self, session: AsyncSession, lease: LeaseRow, how: str) -> None:
        text = f"{lease.address} at {lease.endpoint} {how}: {lease.kind} of {lease.device}"
        data = {"endpoint": lease.endpoint, "address": lease.address, "kind": lease.kind, "mac": lease.mac}
        await events.add(session, f"lease-{how}", lease.device, text, **data)

    async def _held(self, session: AsyncSession, number: int) -> LeaseRow:
        lease = await leases.get(session, number, now())
        if lease is None:
            raise missing("lease", str(number))
        return lease

    def _endpoint(self, name: str) -> Endpoint:
        intent = self._intent()
        endpoint = intent.endpoints.get(name)
        if endpoint is None:
            raise invalid("endpoint", f"there is no endpoint {name!r}")
        cloudlet = intent.cloudlets[endpoint.cloudlet]
        if not cloudlet.speaks:
            raise conflict(f"{name} is not active: its cloudlet {cloudlet.name} is {cloudlet.state}", "endpoint")
        return endpoint
