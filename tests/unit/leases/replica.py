"""One of several controllers over one database: its real decisions, without HTTP."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from agents.leases.pair import Kind
from controller.core.intent import Endpoint, Intent
from controller.core.refusals import Refused
from controller.core.unavailable import Unavailable
from controller.db import devices
from controller.db.engine import Database
from controller.leases.delegations import Delegations
from controller.leases.devices import know
from controller.leases.leases import Leases
from controller.runtime.wakeup import Wakeup
from controller.wire.delegations import Client, Exchange, Exchanged

T = TypeVar("T")


class Replica:
    """A controller. `others` learn at once which agents were heard. `clock` measures the rests."""

    def __init__(self, url: str, intent: Intent, clock: Callable[[], float], others: "list[Replica]") -> None:
        self._url, self._intent, self._clock, self._others = url, intent, clock, others
        self._working: set[asyncio.Task[Any]] = set()
        self._ended: list[Database] = []
        self.start()

    def start(self) -> None:
        wakeup, self.database = Wakeup(), Database(self._url)
        self.leases = Leases(self.database, lambda: self._intent, wakeup, self._tell)
        self.leases.heard = set[str]().union(*(o.leases.heard for o in self._others if o is not self))
        self.delegations = Delegations(self.database, lambda: self._intent, self.leases, wakeup, self._clock)

    def _tell(self, endpoint: str) -> None:
        for other in self._others:
            other.leases.heard.add(endpoint)

    async def end(self) -> None:
        """Cancel all work under way, and start again."""
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        self._ended.append(self.database)
        self.start()

    async def close(self) -> None:
        """Close all connections, including those on which a rollback is under way."""
        for database in (*self._ended, self.database):
            await database.close()

    async def answer(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of the work; None if the controller refuses or ends first. In the latter case the work may
        have been done."""
        task = asyncio.create_task(work)
        self._working.add(task)
        await asyncio.wait([task])
        self._working.discard(task)
        try:
            return task.result()
        except (Refused, IntegrityError, Unavailable, asyncio.CancelledError):
            return None

    async def exchange(self, endpoint: Endpoint, sent: Exchange) -> Exchanged | None:
        answered = await self.answer(self.delegations.exchange(endpoint, sent))
        return Exchanged.model_validate_json(answered[0].model_dump_json()) if answered else None

    async def grant(self, endpoint: str, device: str, kind: Kind) -> str | None:
        """Return the granted address."""
        granted = await self.answer(self.leases.grant(endpoint, device, kind))
        return granted[0].address if granted else None

    async def register(self, name: str, md: Client, vm: Client) -> None:
        async def work(session: AsyncSession) -> None:
            if await devices.get(session, name) is None:
                devices.add(session, name)
                await session.flush()
                await know(session, name, "md", md.mac, None)
                await know(session, name, "vm", vm.mac, None)

        await self.answer(self.database.transact(work))

    async def sweep(self) -> None:
        """Do the leader's periodic work."""
        await self.answer(self.leases.sweep())
        await self.answer(self.delegations.rest())
