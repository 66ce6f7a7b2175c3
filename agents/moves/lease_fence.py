"""The two acts that decide where the machine runs. Each begins when the controller confirms it. The source must then
hear from the controller often enough (controller/wire/moves.py has the rules)."""

import asyncio
import logging
import math

from agents.controller.client import ControllerAway, ControllerRefused
from agents.hypervisors.hypervisor import HypervisorError
from agents.moves.acts import carry_out, ended, hold
from agents.moves.execution_context import ExecutionContext
from agents.moves.journal import Journal, JournalEntry
from agents.moves.reporter import TICK, Reporter
from agents.moves.tasks import end
from controller.wire.moves import Order, Progress

log = logging.getLogger(__name__)

FENCED = ("switchover", "activate")

_HOLDING = 10.0  # seconds for a driver to hold a machine, before it is asked again
_FINAL = (400, 409, 413, 422)  # statuses after which sending it again is of no use


class LeaseFence:
    """One such order, from its start until the controller has answered the report of its end. `entry` is the journal's
    entry from before a restart."""

    def __init__(
        self, order: Order, place: ExecutionContext, reporter: Reporter, journal: Journal, entry: JournalEntry | None
    ) -> None:
        self._order, self._place, self._reporter, self._journal = order, place, reporter, journal
        self._outcome = entry.outcome if entry is not None and not _worked(entry) else None
        self._seconds = max(order.fence_seconds, 0.1)
        self._pause = min(TICK, self._seconds / 4)
        # When the controller last answered before the restart is not known: it counts as too long ago.
        self._heard = -math.inf if entry is not None and entry.begun else None
        self._working: asyncio.Task[Progress] | None = None
        self._holding = asyncio.Lock()

    @property
    def begun(self) -> bool:
        """Whether the act has begun, so that the place of the machine depends on it."""
        return self._heard is not None

    def cease(self) -> None:
        """Let no further call of the driver begin: there is a newer order, whose task waits for the end of this one."""
        if self._working is not None:
            self._working.cancel()

    async def run(self) -> None:
        """Carry out the order and report it. End early, with the machine held, if the controller withdraws the
        order."""
        async with asyncio.TaskGroup() as group:
            guard = group.create_task(self.stand())
            await self._carry_out()
            guard.cancel()

    async def stand(self) -> None:
        """Hold the machine at the source whenever the controller has not answered for too long."""
        loop, silent = asyncio.get_running_loop(), False
        while self._order.act == "switchover":
            if self._heard is None or loop.time() < self._heard + self._seconds:
                silent = False
                await asyncio.sleep(self._pause / 2)
                continue
            if not silent:
                text = "move %s: the controller has not answered for %s s, so %s is held"
                log.warning(text, self._order.move, self._seconds, self._order.machine.name)
                silent = True
            async with self._holding:
                if self._working is not None:
                    await end(self._working)
                await self._hold()
            await asyncio.sleep(TICK)

    async def let_go(self) -> None:
        """End an order that the controller has withdrawn. Hold the machine at the source: only another order lets it
        run again."""
        log.warning("move %s: the %s is not ordered any more", self._order.move, self._order.act)
        if self.begun and self._order.act == "switchover":
            await self._until_held()
        if self.begun:
            await self._journal.ended(ended(self._order, "failed", detail="not ordered any more"), told=True)

    async def _carry_out(self) -> None:
        while self._outcome is None:
            try:
                if not await self._begin():
                    await self.let_go()
                    return
            except HypervisorError as error:
                self._outcome = ended(self._order, "failed", detail=str(error))
                break
            async with self._holding:
                self._working = asyncio.create_task(carry_out(self._order, self._place, lambda _: None))
            telling = asyncio.create_task(self._keep_telling())
            try:
                await asyncio.wait({self._working})
            finally:
                self._working.cancel()
                await end(telling)
                await end(self._working)
            if not self._working.cancelled():
                self._outcome = self._working.result()
        await self._journal.ended(self._outcome)
        await self._tell_the_end(self._outcome)
        await self._journal.ended(self._outcome, told=True)

    async def _begin(self) -> bool:
        """Return whether the controller confirms that the order is still to be done. Raises HypervisorError if the
        journal cannot store that it has begun."""
        while True:
            try:
                heard = await self._say(ended(self._order, "running"))
            except ControllerRefused as refused:
                if refused.status in _FINAL:
                    return False
                log.warning("move %s: %s", self._order.move, refused)
            except ControllerAway as away:
                log.debug("move %s: %s", self._order.move, away)
            else:
                if not self.begun:
                    await self._journal.begun(self._order)
                self._heard = heard
                return True
            await asyncio.sleep(self._pause)

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            await self._word(ended(self._order, "running"))

    async def _tell_the_end(self, outcome: Progress) -> None:
        while True:
            if await self._word(outcome):
                return
            await asyncio.sleep(self._pause)

    async def _word(self, progress: Progress) -> bool:
        """Report once. Return whether the report need not be sent again."""
        try:
            self._heard = await self._say(progress)
        except ControllerRefused as refused:
            log.warning("move %s: %s", self._order.move, refused)
            return refused.status in _FINAL
        except ControllerAway as away:
            log.debug("move %s: %s", self._order.move, away)
            return False
        return True

    async def _say(self, progress: Progress) -> float:
        return await self._reporter.say(progress, self._seconds / 2)

    async def _until_held(self) -> None:
        while True:
            if await self._hold():
                return
            await asyncio.sleep(TICK)

    async def _hold(self) -> bool:
        try:
            async with asyncio.timeout(_HOLDING):
                await hold(self._order, self._place)
        except HypervisorError as error:
            log.error("move %s: %s cannot be held: %s", self._order.move, self._order.machine.name, error)
        except TimeoutError:
            log.error("move %s: no answer when %s was to be held", self._order.move, self._order.machine.name)
        else:
            return True
        return False


def _worked(entry: JournalEntry) -> bool:
    return entry.outcome is not None and entry.outcome.state == "done"
