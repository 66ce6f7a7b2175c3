"""Delegations: agents give out addresses by themselves, from ranges that are theirs alone, and account for them here.

One exchange is one transaction. An agent's account of its own pairs is true, whatever the database has, because the
agent has already promised them to its clients. For names, the database decides."""

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.blocks import SIZE, Ranges
from controller.core.clock import now
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import conflict, invalid
from controller.db import blocks, delegations, devices, leases, pairs, static_hosts
from controller.db.delegations import DelegationRow
from controller.db.engine import Database
from controller.db.pairs import PairRow
from controller.leases import accounting, declines
from controller.leases.leases import Leases
from controller.runtime.wakeup import Wakeup
from controller.wire.delegations import Client, Exchange, Exchanged, Known


class Delegations:
    """Exchanges with agents, and the time for which lost ranges rest. `intent` returns endpoints and policy."""

    def __init__(
        self,
        database: Database,
        intent: Callable[[], Intent],
        leases: Leases,
        wakeup: Wakeup,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._intent, self._leases, self._wakeup = database, intent, leases, wakeup
        self._clock = clock
        self._ticked = clock()

    async def exchange(self, endpoint: Endpoint, request: Exchange) -> tuple[Exchanged, int]:
        """Take in an agent's account and answer it; return the answer and how many leases are new. Raises Refused for
        an exchange that a later one has overtaken."""
        answer, fresh = await self._database.transact(lambda session: self._exchange(session, endpoint, request))
        if not (answer.anew or answer.resync or request.more):
            self._leases.hear(endpoint.name)
        if fresh or request.declined or any(entry.left == 0 for entry in request.entries):  # not for a renewal
            self._wakeup.ring()
        return answer, fresh

    def begin(self) -> None:
        """Measure the time of resting ranges on this replica from now on."""
        self._ticked = self._clock()

    async def rest(self) -> None:
        """Let the measured time pass for ranges at rest, and take back those that have rested."""
        before, self._ticked = self._ticked, self._clock()
        async with self._database.read() as session:
            if not await delegations.resting(session):
                return

        async def work(session: AsyncSession) -> None:
            await delegations.tick(session, self._ticked - before)
            for row in await delegations.rested(session, now()):
                await blocks.return_all(session, row.endpoint, row.epoch)
                await pairs.drop_empty(session, row.endpoint)
                await delegations.remove(session, row)

        await self._database.transact(work)

    async def _exchange(self, session: AsyncSession, endpoint: Endpoint, request: Exchange) -> tuple[Exchanged, int]:
        policy, at = self._intent().policy.addresses, now()
        ranges = Ranges.of(endpoint, policy)
        without = {
            *ranges.without,
            *((number, number) for number in await static_hosts.numbers(session, endpoint.name)),
        }
        said = {"bound": policy.bound(endpoint.name), "hosts": policy.told(endpoint.name)}
        answer = Exchanged(lease_seconds=ranges.lease_seconds, without=sorted(without), **said)
        if not all(number < ranges.total for number in (*(request.blocks or ()), *request.give_back)):
            raise invalid("blocks", f"{ranges.plan.network} has blocks 0 to {ranges.total - 1}")
        row = await delegations.locked(session, endpoint.name, request.incarnation)
        if row is not None and row.rest_seconds is not None:
            return answer.model_copy(update={"anew": True}), 0
        if row is not None and request.turn <= row.turn:
            raise conflict(f"exchange {request.turn} of {endpoint.name} comes after exchange {row.turn}")
        if request.acked > (row.applied if row else 0) or (row is None and request.blocks is None):
            return answer.model_copy(update={"resync": True}), 0
        known: set[str] = set()
        if row is None:
            if (former := await delegations.in_force(session, endpoint.name)) is not None:
                await pairs.hold_lent(session, endpoint.name, at + timedelta(seconds=former.longest))
            begun = endpoint.name, request.incarnation, ranges.lease_seconds, at
            row = await delegations.begin(session, *begun, heard=not request.resting)
            await pairs.lend_all(session, endpoint.name, row.epoch)
            known |= await pairs.devices_at(session, endpoint.name)
        row.turn, row.longest = request.turn, max(row.longest, ranges.lease_seconds)
        row.heard = not request.resting
        row.applied = request.entries[-1].version if request.entries else request.acked
        given: set[int] = set()
        if request.blocks is not None:
            mine = await blocks.of(session, endpoint.name, row.epoch)
            if claimed := set(request.blocks) - mine:
                await blocks.claim(session, endpoint.name, claimed, row.epoch)
                there = await pairs.numbered(session, endpoint.name, await pairs.taken(session, endpoint.name, claimed))
                known |= {pair.device for pair in there.values() if pair.device}
            if given := mine - set(request.blocks) - set(request.give_back):  # the agent has not heard of them
                there = await pairs.numbered(session, endpoint.name, await pairs.taken(session, endpoint.name, given))
                known |= {pair.device for pair in there.values() if pair.device}
        asked = [(client.mac, client.client_id) for client in request.ask]
        who = await devices.known(session, {*map(accounting.identity, request.entries), *asked})
        told = endpoint.name, ranges.plan, row.epoch, request.entries
        # First, because the device of a declined pair may have leased another one since.
        await declines.take_in(session, endpoint.name, ranges.plan, request.declined, at)
        fresh, misnamed = await accounting.take_in(session, *told, who, at)
        forgotten = await self._forget(session, row, request.forget, at) if request.forget else []
        if request.give_back:
            await blocks.hand_over(session, endpoint.name, request.give_back, row.epoch, blocks.OWN)
            await pairs.unlend(session, endpoint.name, request.give_back)
            await pairs.drop_empty(session, endpoint.name)
        if request.want > len(given):
            found, of = await self._delegate(session, ranges, row, request.want - len(given))
            given, known = given | found, known | of
        if misnamed:  # their devices may have changed above
            who = {**who, **await devices.known(session, misnamed)}
        known |= {who[client][0].device for client in [*asked, *misnamed] if client in who}
        return answer.model_copy(
            update={
                "acked": row.applied,
                "blocks": [ranges.block(number) for number in sorted(given)],
                "forgotten": forgotten,
                "known": await self._describe(session, ranges, row, known, at, whole=not request.more) if known else [],
            }
        ), fresh

    async def _delegate(
        self, session: AsyncSession, ranges: Ranges, row: DelegationRow, want: int
    ) -> tuple[set[int], set[str]]:
        """Delegate blocks without owner and, if these do not suffice, the controller's own with the pairs in them.
        Returns the blocks and the devices that have pairs there."""
        free: list[int] = []
        start = 0
        while len(free) < want and (found := await blocks.nobodys(session, row.endpoint, ranges.shared, want, start)):
            free += [number for number in found if any(True for _ in ranges.free(number))]
            start = max(found) + 1
        free = free[:want]
        await blocks.add(session, row.endpoint, free, row.epoch)
        own = await pairs.rooms(session, row.endpoint, want - len(free), ranges.shared)
        if not own:
            return set(free), set()
        await blocks.hand_over(session, row.endpoint, own, blocks.OWN, row.epoch)
        there = await pairs.numbered(session, row.endpoint, await pairs.taken(session, row.endpoint, own))
        await pairs.lend(session, [pair.id for pair in there.values()], row.epoch)
        return {*free, *own}, {pair.device for pair in there.values() if pair.device}

    async def _forget(
        self, session: AsyncSession, row: DelegationRow, numbers: Iterable[int], at: datetime
    ) -> list[int]:
        """Take pairs from their devices, unless one has a lease that the agent does not know of. Returns those that are
        free."""
        there = await pairs.numbered(session, row.endpoint, set(numbers))
        taken = await pairs.take_idle(session, [pair.id for pair in there.values()], at, pairs.lent_to(row.epoch))
        gone = {n: pair for n, pair in there.items() if pair.id in taken}
        await pairs.tidy(session, [pair.device for pair in gone.values() if pair.device])
        return sorted(gone.keys() | (set(numbers) - there.keys()))

    async def _describe(
        self,
        session: AsyncSession,
        ranges: Ranges,
        row: DelegationRow,
        names: set[str],
        at: datetime,
        *,
        whole: bool,
    ) -> list[Known]:
        """Return the agent's view of these devices, and lend it the pairs that they have here. `whole`: the agent has
        told all its leases."""
        here = await pairs.of_devices(session, row.endpoint, names)
        if whole:
            await self._part(session, ranges, row, here, at)
        await self._keep_reservations(session, ranges, row, names - here.keys(), here)
        await pairs.lend(session, [pair.id for pair in here.values()], row.epoch)
        clients = await devices.clients(session, sorted(names))
        held = await leases.live(session, [pair.id for pair in here.values()], at)

        def client(name: str, kind: str) -> Client | None:
            of = clients.get((name, kind))
            return Client(mac=of.mac, client_id=of.client_id) if of else None

        def left(name: str, kind: str) -> int:
            until = held.get(here[name].id, {}).get(kind) if name in here else None
            return int((until - at).total_seconds()) + 1 if until else 0

        return [
            Known(
                device=name,
                number=here[name].number if name in here else None,
                md=client(name, "md"),
                vm=client(name, "vm"),
                md_left=left(name, "md"),
                vm_left=left(name, "vm"),
            )
            for name in sorted(names)
        ]

    async def _part(
        self, session: AsyncSession, ranges: Ranges, row: DelegationRow, here: dict[str, PairRow], at: datetime
    ) -> None:
        """Take the old pair from each device for which another pair is now reserved, unless the old one has leases."""
        others = {n: pair for n, pair in here.items() if ranges.reserved.get(n, pair.number) != pair.number}
        if not others:
            return
        wanted = await pairs.numbered(session, row.endpoint, {ranges.reserved[name] for name in others})
        free = {name: pair for name, pair in others.items() if ranges.reserved[name] not in wanted}
        still = pairs.lent_to(row.epoch) | pairs.unlent()
        gone = await pairs.take_idle(session, [pair.id for pair in free.values()], at, still)
        for name, pair in free.items():
            if pair.id in gone:
                del here[name]

    async def _keep_reservations(
        self, session: AsyncSession, ranges: Ranges, row: DelegationRow, names: set[str], here: dict[str, PairRow]
    ) -> None:
        """Give each device with a reservation its reserved pair, unless the pair is taken."""
        wanted = {name: ranges.reserved[name] for name in names if name in ranges.reserved}
        if not wanted:
            return
        taken = await pairs.numbered(session, row.endpoint, set(wanted.values()))
        owners = await blocks.owners(session, row.endpoint, {number // SIZE for number in wanted.values()})
        for name, number in wanted.items():
            if number in taken:
                continue
            if number // SIZE not in owners:
                await blocks.add(session, row.endpoint, [number // SIZE], blocks.OWN)
                owners[number // SIZE] = blocks.OWN
            here[name] = await pairs.give(session, row.endpoint, name, number, owners[number // SIZE], row.epoch)
