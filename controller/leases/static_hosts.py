"""Static hosts: taken over and given up in one transaction each; constraints keep their pairs unique."""

from collections.abc import Callable, Sequence
from ipaddress import ip_address

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core import static_hosts as rules
from controller.core.addresses import AddressPlan
from controller.core.blocks import SIZE
from controller.core.clock import now
from controller.core.event_budget import of_endpoint
from controller.core.intent import Intent
from controller.core.refusals import conflict, missing
from controller.core.static_hosts import Complaint, Static
from controller.core.unavailable import Beaten
from controller.db import blocks, events, leases, pairs
from controller.db import static_hosts as table
from controller.db.engine import Database
from controller.db.pairs import PairRow
from controller.runtime.wakeup import Wakeup


class NotTaken(Exception):  # noqa: N818 - an answer
    """Hosts cannot be taken over, each with its reason; no host of the request was."""

    def __init__(self, complaints: list[Complaint]) -> None:
        super().__init__(f"{len(complaints)} hosts cannot be taken over; none was")
        self.complaints = complaints


class StaticHosts:
    """`intent` returns the LANs as they are now."""

    def __init__(self, database: Database, intent: Callable[[], Intent], wakeup: Wakeup) -> None:
        self._database, self._intent, self._wakeup = database, intent, wakeup

    async def take_over(self, endpoint: str, hosts: Sequence[Static]) -> int:
        """Add hosts to those of a LAN, all or none; return how many were new. Raises Refused and NotTaken."""
        if endpoint not in self._intent().endpoints:
            raise missing("endpoint", endpoint, self._intent().endpoints)
        plan = self._intent().endpoints[endpoint].plan
        try:
            async with self._database.write() as session:
                await table.name_declined(session, endpoint, {host.address for host in hosts})
                there = await table.of(session, endpoint)
                if complaints := rules.check(hosts, plan, there):
                    raise NotTaken(complaints)
                fresh = {h.address: (i, h) for i, h in reversed([*enumerate(hosts)]) if h.address not in there}
                await self._occupy(session, endpoint, plan, fresh)
                if fresh:
                    text = f"{len(fresh)} static hosts of {endpoint} were taken over"
                    await events.add(session, "statics-taken-over", endpoint, text)
        except IntegrityError as error:
            raise conflict("an address of these hosts was given out at the same moment; ask again") from error
        self._wakeup.ring()
        return len(fresh)

    async def _occupy(
        self, session: AsyncSession, endpoint: str, plan: AddressPlan, hosts: dict[str, tuple[int, Static]]
    ) -> None:
        complaints: list[Complaint] = []
        rows: list[tuple[Static, int]] = []
        for number, host in hosts.values():
            at_number = plan.index_of(ip_address(host.address))
            pair = await pairs.at_number(session, endpoint, at_number)
            if pair is not None and pair.device is not None:
                if why := await _in_use(session, pair):
                    complaints.append((number, "address", why))
                    continue
                if not await pairs.take_idle(session, [pair.id], now()):
                    raise Beaten(f"{pair.device} came back to pair {at_number} of {endpoint}")
                pair = None
            if pair is None:
                block = at_number // SIZE
                owner = (await blocks.owners(session, endpoint, [block])).get(block, blocks.OWN)
                pair = await pairs.give(session, endpoint, None, at_number, owner)
            rows.append((host, pair.id))
        if complaints:
            raise NotTaken(sorted(complaints))
        await table.add(session, endpoint, rows)

    async def sweep(self) -> None:
        """Free the addresses that clients found in use, when their time is over."""
        async with self._database.read() as session:
            if not await table.over(session, now()):
                return

        async def work(session: AsyncSession) -> None:
            for row in await table.over(session, now()):
                if await table.remove(session, row):
                    await pairs.remove(session, row.pair)
                text = f"{row.address} at {row.endpoint} may be given out again"
                source = of_endpoint(row.endpoint)
                await events.add(session, "address-freed", row.endpoint, text, caused_by=source, address=row.address)

        await self._database.transact(work)

    async def give_up(self, endpoint: str, name: str) -> None:
        """Forget a host, so that its address can be given out again. Raises Refused."""
        async with self._database.write() as session:
            row = await table.get(session, endpoint, name)
            if row is None:
                raise missing(f"static host of {endpoint}", name)
            if await table.remove(session, row):
                await pairs.remove(session, row.pair)
            await events.add(session, "static-given-up", endpoint, f"{name} of {endpoint} is no longer a static host")
        self._wakeup.ring()


async def _in_use(session: AsyncSession, pair: PairRow) -> str | None:
    """Return why a device's pair cannot be taken from it now, None if it can."""
    at = now()
    if held := await leases.live_of(session, pair.id, at):
        return f"{held.address} is leased to {held.device} until {held.expires_at:%Y-%m-%dT%H:%M:%SZ}"
    if pair.held_until is not None and pair.held_until > at:
        return f"the pair is reserved for {pair.device} until {pair.held_until:%Y-%m-%dT%H:%M:%SZ}"
    return None
