"""The service for a controller's own records: the database's tables, and the event log."""

from functools import partial
from typing import ClassVar

from controller.db.schema import upgrade
from controller.runtime.maintenance import PRUNE, Chore, prune, sweep
from controller.runtime.runtime import Runtime
from controller.runtime.service import Leader, Service, forever


class RecordsService(Service):
    """Starts first and closes last, as every other service writes to the database and notes events."""

    name: ClassVar[str] = "records"

    def __init__(self, runtime: Runtime, leader: Leader) -> None:
        self._database, self._event_log, self._leader = runtime.database, runtime.event_log, leader

    async def start(self) -> None:
        """Bring the database's tables up to date. Raises UnknownRevision and Unavailable."""
        await upgrade(self._database)

    async def run(self) -> None:
        """Write events. The leader also deletes old records."""
        pruning = partial(sweep, [Chore(partial(prune, self._database), PRUNE)])
        await forever(
            self._event_log.run, partial(sweep, [Chore(self._tell_held)]), partial(self._leader.lead, pruning)
        )

    async def close(self) -> None:
        """Write the events that wait and those held back, then close the database."""
        try:
            await self._tell_held(all_=True)
            await self._event_log.flush()
        finally:
            await self._database.close()

    async def _tell_held(self, *, all_: bool = False) -> None:
        self._event_log.tell_held(leading=self._leader.leading, all_=all_)
