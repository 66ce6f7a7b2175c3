"""The orders of all moves: one task per move, and never an older order after a newer one."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agents.backoff import Backoff
from agents.hypervisors.found import Drivers
from agents.hypervisors.hypervisor import Hypervisor, HypervisorError
from agents.moves.acts import carry_out, ended
from agents.moves.execution_context import Door, ExecutionContext, Forget, Lessor
from agents.moves.journal import Journal, JournalEntry, open_fence
from agents.moves.lease_fence import FENCED, LeaseFence
from agents.moves.reporter import TICK, Away, Reporter
from agents.moves.switch import Switch
from agents.moves.tasks import end
from controller.wire import tracing
from controller.wire.desired import Desired
from controller.wire.log_fields import about
from controller.wire.moves import POWER, Figures, Order, Orders, Progress

log = logging.getLogger(__name__)

_AGAIN = 2.0  # seconds from a failed start or stop to the next one


@dataclass
class _Work:
    """The work for one move. `fence` is set if the act is a fenced one. `live`: the order is there and no newer one is.
    `older`: tasks for which this one waits."""

    order: Order
    task: "asyncio.Task[None]"
    fence: LeaseFence | None
    live: bool
    older: "tuple[asyncio.Task[None], ...]" = ()


class Moves:
    """One cloudlet's part in moves. `intend` takes orders, `run` works until it is cancelled; machines then run on.
    `counted` gets the outcome of each order."""

    def __init__(
        self,
        cloudlet: str,
        directory: Path,
        controller: Away,
        drivers: Drivers,
        guest_switch: Callable[[Hypervisor], Switch] | None = None,
        leases: Lessor | None = None,
        door: Door | None = None,
        forget: Forget | None = None,
        counted: Callable[[Progress], None] = lambda _outcome: None,
    ) -> None:
        self._journal = Journal(directory, cloudlet, counted)
        self._place = ExecutionContext(drivers, guest_switch, leases, door, forget, self._journal)
        self._reporter = Reporter(cloudlet, controller, self._place)
        self._works: dict[str, _Work] = {}
        self._newest: dict[str, int] = {}

    def know(self, desired: Desired) -> None:
        """Take the desired state of the cloudlet."""
        self._place.know(desired)

    def intend(self, orders: Orders) -> None:
        """Carry out these orders, and no others, from now on."""
        wanted = {order.move: order for order in orders.orders}
        for move in self._works.keys() - wanted.keys():
            self._let_go(self._works[move])
        self._works = {move: work for move, work in self._works.items() if move in wanted or not work.task.done()}
        for order in wanted.values():
            self._take(order)

    def running(self) -> list[tuple[str, Hypervisor]]:
        """Return the machines that ran here when they were last seen, each with its driver."""
        return self._place.running()

    def at_rest(self, machine: str) -> bool:
        """Return whether no order for a machine is being carried out."""
        return all(work.task.done() for work in self._works.values() if work.order.machine.name == machine)

    async def run(self) -> None:
        """Work until cancelled."""
        for entry in self._journal.open():
            if entry.order.move not in self._works:
                fence = self._fence(entry.order, entry)
                task = asyncio.create_task(fence.stand())
                self._works[entry.order.move] = _Work(entry.order, task, fence, live=False)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._reporter.run())
                await self._place.load()
                self._reporter.ready()
        finally:
            await asyncio.gather(*(end(work.task) for work in self._works.values()))
            await self._journal.close()

    def _take(self, order: Order) -> None:
        work, entry = self._works.get(order.move), self._journal.entry(order.move)
        newest = max(entry.order.number if entry else 0, self._newest.get(order.move, 0))
        at_it = work is not None and work.live and work.order.number == order.number and not work.task.done()
        # A start is no part of a move: its number is from the VM's record, which may be new.
        if at_it or (order.number < newest and order.act not in POWER):
            return
        log.info("move %s: %s %s", order.move, order.act, order.machine.name)
        self._newest[order.move] = order.number
        older = tuple(task for task in (*work.older, work.task) if not task.done()) if work is not None else ()
        for task in older:
            task.cancel()
        if work is not None and work.fence is not None:
            work.fence.cease()
        entry = entry if entry is not None and entry.order.number == order.number else None
        fence = self._fence(order, entry) if order.act in FENCED else None
        task = asyncio.create_task(self._work(order, entry, fence, older))
        self._works[order.move] = _Work(order, task, fence, True, older)

    def _let_go(self, work: _Work) -> None:
        """End the work for an order that is gone. An act that has begun and decides where the machine runs goes on to
        its end."""
        if work.live and work.fence is not None and work.fence.begun:
            return
        self._reporter.forget(work.order.move)
        if work.fence is not None and not work.live and not work.task.done():  # on guard since the agent's start
            work.task.cancel()
            work.task = asyncio.create_task(work.fence.let_go())
            work.live = True
        elif work.live:
            work.live = False
            work.task.cancel()

    def _fence(self, order: Order, entry: JournalEntry | None) -> LeaseFence:
        return LeaseFence(order, self._place, self._reporter, self._journal, entry)

    async def _work(
        self,
        order: Order,
        entry: JournalEntry | None,
        fence: LeaseFence | None,
        older: "tuple[asyncio.Task[None], ...]",
    ) -> None:
        """Carry out one order, or report again how it ended. Never raises: the agent has other work to do too."""
        at = None if order.act in POWER else tracing.place(order.move, order.number)
        of = {"weft.move": order.move, "weft.vm": order.machine.name, "weft.endpoint": order.endpoint}
        with (
            about(move=order.move, act=order.act, vm=order.machine.name),
            tracing.span(f"agent {order.act}", of, at=at),
        ):
            await self._work_on(order, entry, fence, older)

    async def _work_on(
        self,
        order: Order,
        entry: JournalEntry | None,
        fence: LeaseFence | None,
        older: "tuple[asyncio.Task[None], ...]",
    ) -> None:
        for task in older:
            await end(task)
        self._reporter.forget(order.move)
        try:
            if entry is not None and entry.outcome is not None and await self._stands(entry, entry.outcome):
                await self._reporter.insist(entry.outcome)
                await self._journal.ended(entry.outcome, told=True)
            elif fence is not None:
                await fence.run()
            else:
                await self._carry_out(order)
        except Exception:
            log.exception("order %d of move %s, %s of %s", order.number, order.move, order.act, order.machine.name)

    async def _stands(self, entry: JournalEntry, outcome: Progress) -> bool:
        """Return whether that outcome is still true, and can be reported again."""
        if outcome.state != "done":
            return not open_fence(entry) and not _try_again(outcome)
        try:
            return await self._place.stands(entry.order)
        except HypervisorError:
            return False

    async def _carry_out(self, order: Order) -> None:
        backoff = Backoff(first=_AGAIN, cap=60.0)
        while True:
            try:
                await self._journal.taken(order)
            except HypervisorError as error:
                outcome = ended(order, "failed", detail=str(error))
            else:
                outcome = await self._do(order)
            await self._journal.ended(outcome)
            self._reporter.forget(order.move)
            await self._reporter.insist(outcome)
            await self._journal.ended(outcome, told=True)
            if not _try_again(outcome):
                return
            await asyncio.sleep(backoff.delay())

    async def _do(self, order: Order) -> Progress:
        """Carry out the order, and note its progress at every tick. The calls are in this very task, so that none
        begins once it is cancelled."""
        latest = [Figures()]
        telling = asyncio.create_task(self._keep_telling(order, latest))
        try:
            outcome = await carry_out(order, self._place, latest.append)
        finally:
            await end(telling)
        if (this := asyncio.current_task()) is not None and this.cancelling():
            raise asyncio.CancelledError  # which the driver has kept to itself
        return outcome

    async def _keep_telling(self, order: Order, latest: list[Figures]) -> None:
        while True:
            del latest[:-1]
            self._reporter.note(ended(order, "running", figures=latest[-1]))
            await asyncio.sleep(TICK)


def _try_again(outcome: Progress) -> bool:
    """Return whether to carry out the order again: a start or stop that failed stays ordered, without a new order."""
    return outcome.act in POWER and outcome.state == "failed"
