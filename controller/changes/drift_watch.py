"""Looks for drift: the leader compares the region with a text that was applied, after changes and at regular
intervals, and records an event when drift begins and when it ends."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from controller.changes.flow import Changes
from controller.db import events
from controller.db.engine import Database
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

PAUSE = 2.0
"""Least seconds between two looks: a comparison takes work in proportion to the size of the region."""

SHARE = 20
"""The pause after a look is this many times as long as the look, so that looks take at most a twentieth of the time."""

LOOK = 60.0
"""Seconds after which the next look happens although nothing changed: devices and VMs are no part of the intent."""


@dataclass(frozen=True)
class Drifted:
    """The revision of the text, 0 if there is none, and the number of steps that applying it anew would take."""

    revision: int
    steps: int


class DriftWatch:
    """`noun` is the name of the kind of text, and `look` compares the region with the one in force."""

    def __init__(
        self, database: Database, changes: Changes, wakeup: Wakeup, noun: str, look: Callable[[], Awaitable[Drifted]]
    ) -> None:
        self._database, self._changes, self._wakeup = database, changes, wakeup
        self._noun, self._look = noun, look
        self._began, self._ended = f"{noun}-drift", f"{noun}-drift-ended"

    async def run(self) -> None:
        """Look after every change, until cancelled. Only the leader does this."""
        with self._wakeup.listen() as wake:
            while True:
                intent, started = self._changes.intent, time.monotonic()
                try:
                    await self._tell(await self._look())
                except Exception:  # the next look may succeed
                    log.exception("drift of the %s", self._noun)
                await asyncio.sleep(max(PAUSE, SHARE * (time.monotonic() - started)))
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        while intent is self._changes.intent:
                            wake.clear()
                            await wake.wait()

    async def _tell(self, found: Drifted) -> None:
        """Record an event when drift begins or ends. The database has the last such event, whichever replica recorded
        it."""
        async with self._database.read() as session:
            last = await events.latest_of(session, (self._began, self._ended))
        drifted = last is not None and last.type == self._began
        if (found.steps > 0) == drifted:
            return
        where = f"revision {found.revision}"
        async with self._database.write() as session:
            if drifted:
                await events.add(session, self._ended, where, f"all is as {where} says again")
            else:
                text = f"not as {where} says: {found.steps} steps; weft {self._noun} drift names them"
                await events.add(session, self._began, where, text, steps=found.steps)
        self._wakeup.ring()
