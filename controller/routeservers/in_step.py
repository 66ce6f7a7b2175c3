"""A route server that is in step: changes go out one after the other. If it cannot take a change, because it is at
another generation or its answer was lost, it gets the whole rule set instead.

With several replicas, the replica that makes a change sends it, because no other could do so sooner. If the change's
base is another replica's change that is on its way, it waits for that change. If that change does not come, because its
maker has died, or if the leader finds that a change has not come, the whole rule set is sent. A route server takes only
later generations, so the order in which replicas send makes no difference."""

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import TypeVar

from controller.core.unavailable import Unavailable
from controller.replication.leadership import Leadership
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, Unreachable
from controller.routeservers.observation import GRACE, LOOKS, behind
from controller.routeservers.queue import Asking, Checking, Confirming, Handover, Queue, Sending, resolve
from controller.routeservers.route_server import RouteServer
from controller.runtime.event_log import EventLog
from controller.runtime.task_group import task_group
from controller.wire.rulesets import Change, PeerReceipt, Receipt

log = logging.getLogger(__name__)

T = TypeVar("T")

HEARTBEAT = 2.0
"""Seconds between two messages to a route server: one that hears none for 5 s looks at its twin's rule set."""


class HandedOver(Exception):  # noqa: N818 - a condition that passes
    """This replica has become the leader, or leads no longer."""


class InStep:
    """Works off the queue. `shared`: there may be other replicas."""

    def __init__(
        self, server: RouteServer, queue: Queue, leadership: Leadership, event_log: EventLog, *, shared: bool
    ) -> None:
        self._server, self._queue, self._leadership = server, queue, leadership
        self._event_log, self._shared = event_log, shared
        self._expected = asyncio.Event()
        self._busy = False

    def expect(self) -> None:
        """Expect a change that another replica has made and sends."""
        self._expected.set()

    async def run(self, *, led: bool) -> None:
        """Work until the route server is out of step. `led`: this replica leads. Raises HandedOver, Unreachable and
        Unavailable."""
        work = [self._serve(led), self._keep_in_touch()]
        if led:
            work.append(self._follow())
        if self._shared:
            work += [self._see_to_it(led), self._hand_over(led)]
        try:
            await task_group(*work)
        except (OtherGeneration, RefusedByRouteServer) as error:
            raise Unreachable(str(error)) from None

    async def _serve(self, led: bool) -> None:
        while True:
            match await self._queue.get():
                case Sending(change, within, receipt, span):
                    with span:
                        await self._answer(receipt, self._send(change, within), None)
                case Confirming(generation, done):
                    await self._answer(done, self._confirm(generation), False)
                case Asking(generation, receipt):
                    await self._answer(receipt, self._receipt(generation, led), None)
                case Checking():
                    await self._check(led)
                case Handover():
                    raise HandedOver

    async def _hand_over(self, led: bool) -> None:
        """Hand over, between two changes, when this replica becomes the leader or leads no longer."""
        await self._leadership.other_than(led)
        self._queue.hand_over()
        await asyncio.Event().wait()

    async def _see_to_it(self, led: bool) -> None:
        """Have the leader check whether changes of other replicas have arrived."""
        while True:
            await self._expected.wait()
            await asyncio.sleep(GRACE)
            self._expected.clear()
            if led:
                self._queue.check()

    async def _answer(self, future: asyncio.Future[T], work: Awaitable[T], otherwise: T) -> None:
        """Settle the future with the outcome of the work, or with `otherwise` if the work raises."""
        self._busy = True
        try:
            outcome = await work
        except BaseException:
            resolve(future, otherwise)
            raise
        finally:
            self._busy = False
        resolve(future, outcome)

    async def _keep_in_touch(self) -> None:
        """Repeat the generation, beside the changes. An answer that a change has overtaken is ignored."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            if self._shared:
                self._queue.check()
                continue
            generation = self._server.generation
            if self._busy or generation is None:
                continue  # a change is a sign of life as well
            try:
                await self._server.client.heartbeat(generation)
            except OtherGeneration:
                if not self._busy and self._server.generation == generation:
                    raise
            except RefusedByRouteServer:
                return  # this release does not know the call

    async def _check(self, led: bool) -> None:
        """Check whether the changes of other replicas have arrived, and send the whole rule set if this replica leads
        and they have not. A replica that cannot read the database does nothing. One that has changes to send checks
        later, because these may be the missing ones."""
        server = self._server
        for look in range(LOOKS):
            if self._queue.unsent:
                return
            try:
                await server.source.refresh()
            except Unavailable:
                return
            wanted = server.wanted().generation
            try:
                await server.client.heartbeat(wanted)
            except RefusedByRouteServer:
                return  # this release does not know the call
            except OtherGeneration as other:
                found, refusal = other.found, other
            else:
                server.arrived(wanted)
                return
            if found > wanted and look > LOOKS // 2:
                raise refusal  # no replica that works with this database has sent that
            if found < wanted:
                await asyncio.sleep(GRACE / LOOKS)
        if not led:
            raise Unreachable(behind(found))
        await self._send_all()

    async def _send_all(self) -> Receipt:
        rules = self._server.wanted()
        receipt = await self._server.replace(rules)
        self._server.generation, self._server.receipt = rules.generation, receipt
        return receipt

    async def _confirm(self, generation: int) -> bool:
        await self._server.client.confirm(generation)
        return True

    async def _send(self, change: Change, within: int | None) -> Receipt | None:
        server = self._server
        if not change.dry_run and server.generation is not None and change.generation <= server.generation:
            # A whole rule set that was sent since then contains the change.
            return server.receipt or await self._receipt_of_another(change.base)
        try:
            receipt = await self._change(change, within)
        except (OtherGeneration, RefusedByRouteServer, Unreachable) as error:
            if change.dry_run and (self._shared or not isinstance(error, OtherGeneration)):
                return None
            if isinstance(error, OtherGeneration) and self._shared and error.found >= change.generation:
                server.arrived(error.found)
                return await self._receipt_of_another(change.base)
            log.warning("%s: %s; sending the whole rule set", server.name, error)
            if self._shared:
                await server.source.refresh()
            receipt = await self._send_all()
            return None if change.dry_run else receipt
        if not change.dry_run:
            server.generation, server.receipt = change.generation, receipt
        return receipt

    async def _change(self, change: Change, within: int | None) -> Receipt:
        """Send a change, and wait a moment for a base that another replica has made."""
        if not self._shared and change.base != self._server.generation:
            raise OtherGeneration(f"{self._server.name} is at {self._server.generation}")
        until = time.monotonic() + GRACE
        while True:
            try:
                return await self._server.client.change(change, within)
            except OtherGeneration as error:
                if not self._shared or error.found > change.base or time.monotonic() > until:
                    raise
            await asyncio.sleep(GRACE / 50)

    async def _receipt(self, generation: int, led: bool) -> Receipt | None:
        """Return the receipt of a change that was sent before, None if the server does not have it."""
        if self._shared:
            await self._check(led)
        receipt = await self._receipt_of_another(generation - 1)
        return receipt if receipt.generation >= generation else None

    async def _receipt_of_another(self, base: int) -> Receipt:
        """Return a receipt for a change that another replica has sent with other changes, as far as the server's status
        shows it."""
        status = await self._server.client.status()
        waiting = [str(session["peer"]) for session in status.get("sessions") or [] if session.get("backlog")]
        return Receipt(
            route_server=self._server.name,
            generation=int(status["generation"]),
            previous=base,
            announced=0,
            withdrawn=0,
            peers=[PeerReceipt(peer=peer, announced=0, withdrawn=0, written_us=None) for peer in waiting],
            duration_us=0,
        )

    async def _follow(self) -> None:
        server = self._server
        async for event in server.client.events(server.last_event):
            await self._event_log.heard(server.name, server.started_at, event)
            server.last_event = max(server.last_event, event.number)
