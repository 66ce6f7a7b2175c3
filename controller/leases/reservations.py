"""Reservations: a pair of a LAN is kept for a device that is about to arrive, for example because its VM is to move."""

from datetime import timedelta

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.refusals import conflict, missing
from controller.db import devices, events, names, pairs
from controller.db.engine import Database
from controller.db.pairs import PairRow
from controller.leases.leases import Leases
from controller.runtime.wakeup import Wakeup


class Reservations:
    """Makes and ends reservations; `leases` finds the pair as it does for a lease."""

    def __init__(self, database: Database, leases: Leases, wakeup: Wakeup) -> None:
        self._database, self._leases, self._wakeup = database, leases, wakeup

    async def make(self, endpoint: str, device: str, seconds: int) -> PairRow:
        """Keep the device's pair at a LAN, its old one if it had one, for so many seconds from now on. Repeating it
        only moves the end, and never to an earlier time. Raises Refused."""

        async def work(session: AsyncSession) -> PairRow:
            if await devices.get(session, device) is None:
                raise await names.unknown(session, "device", "device", device)
            at = now()
            pair = await self._leases.pair(session, endpoint, device, at)
            until = at + timedelta(seconds=seconds)
            if pair.held_until is None or pair.held_until < until:
                pair.held_until = until
            text = f"pair {pair.number} of {endpoint} is reserved for {device} until {pair.held_until:%H:%M:%SZ}"
            await events.add(session, "pair-reserved", device, text, endpoint=endpoint)
            return pair

        try:
            pair = await self._database.transact(work)
        except IntegrityError:
            raise conflict("another request got the pair at the same moment; ask again") from None
        self._wakeup.ring()
        return pair

    async def give_up(self, number: int) -> None:
        """End a reservation; leases on the pair go on. Raises Refused."""
        async with self._database.write() as session:
            pair = await pairs.reserved(session, number, now())
            if pair is None:
                raise missing("reservation", str(number))
            pair.held_until = None
            text = f"pair {pair.number} of {pair.endpoint} is not reserved any more"
            await events.add(session, "pair-freed", str(pair.device), text, endpoint=pair.endpoint)
        self._wakeup.ring()
