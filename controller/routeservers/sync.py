"""Keeps one route server in step with the intent.

| state | act of this replica | next |
|---|---|---|
| AWAY | waits a second; reports changes as unreachable at once | CATCHING_UP, OBSERVING |
| CATCHING_UP | compares and replaces; only the replica that leads (`catch_up.py`) | IN_STEP, AWAY |
| OBSERVING | checks whether the leader has brought it up to date (`observation.py`) | IN_STEP, AWAY |
| IN_STEP | sends changes one after the other (`in_step.py`) | AWAY, or by a handover CATCHING_UP, OBSERVING |

A change on trial: the database says how it ends. A route server ends it by itself only if it hears no decision for so
long that the controller must be away. It is then behind, at the generation from before, and the controller's next
message brings it up to date, whichever decision that is."""

import asyncio
import logging
from enum import StrEnum

from controller.core.unavailable import Unavailable
from controller.replication.leadership import Leadership
from controller.routeservers.catch_up import CatchUp
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, RouteServerClient, Unreachable
from controller.routeservers.in_step import HandedOver, InStep
from controller.routeservers.observation import observe
from controller.routeservers.precedence import Precedence
from controller.routeservers.queue import Queue, RulesOnTrial
from controller.routeservers.route_server import RouteServer, RuleSource, SendingHeld
from controller.runtime.event_log import EventLog
from controller.wire import tracing
from controller.wire.rulesets import Change, Receipt
from controller.wire.tracing import Values

log = logging.getLogger(__name__)

RETRY = 1.0
"""Seconds between two attempts to reach a route server that is away."""


class SyncState(StrEnum):
    """The states of the table above."""

    AWAY = "away"
    CATCHING_UP = "catching up"
    OBSERVING = "observing"
    IN_STEP = "in step"


class RouteServerSync:
    """`error` says why the route server is away. `shared`: there may be other replicas."""

    def __init__(
        self,
        name: str,
        client: RouteServerClient,
        source: RuleSource,
        precedence: Precedence,
        leadership: Leadership,
        event_log: EventLog,
        *,
        shared: bool,
    ) -> None:
        self.name, self.client = name, client
        self.state, self.error = SyncState.AWAY, "not reached yet"
        self._server, self._queue = RouteServer(name, client, source), Queue()
        self._precedence, self._leadership, self._event_log = precedence, leadership, event_log
        self._catch_up = CatchUp(self._server, precedence, leadership, event_log)
        self._in_step = InStep(self._server, self._queue, leadership, event_log, shared=shared)
        self._led = False

    @property
    def reachable(self) -> bool:
        """Whether the route server was in step and has not gone away since."""
        return self._queue.open

    def submit(self, change: Change, trial: RulesOnTrial | None = None) -> "asyncio.Future[Receipt | None]":
        """Send a change; the future has its receipt, None if the route server is, or goes, away."""
        of: Values = {"weft.route_server": self.name, "weft.generation": change.generation}
        return self._queue.submit(change, trial, tracing.start("route server", of, kind="client"))

    def confirm(self, generation: int) -> "asyncio.Future[bool]":
        """End a trial; the future has False if the route server is, or goes, away."""
        return self._queue.confirm(generation)

    def ask(self, generation: int) -> "asyncio.Future[Receipt | None]":
        """Ask for the outcome of a change; the future has None if the server does not have it, or is away."""
        return self._queue.ask(generation)

    def expect(self) -> None:
        """Expect a change that another replica has made and sends."""
        self._in_step.expect()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            self.state = self._begin()
            while True:
                self.state = await self._next()
        finally:
            self.state = SyncState.AWAY
            self._queue.close()

    def _begin(self) -> SyncState:
        self._led = self._leadership.leading
        return SyncState.CATCHING_UP if self._led else SyncState.OBSERVING

    async def _next(self) -> SyncState:
        """Do the work of the state, and return the state that follows."""
        try:
            match self.state:
                case SyncState.AWAY:
                    await asyncio.sleep(RETRY)
                    return self._begin()
                case SyncState.CATCHING_UP:
                    return self._arrive(await self._catch_up.run())
                case SyncState.OBSERVING:
                    return self._arrive(await observe(self._server, self._precedence))
                case SyncState.IN_STEP:
                    await self._in_step.run(led=self._led)
                    return SyncState.AWAY
        except HandedOver:
            return self._begin()
        except (Unreachable, SendingHeld) as error:
            return self._leave(str(error))
        except Unavailable as error:
            return self._leave(f"the database cannot say what is right: {error}")
        except (OtherGeneration, RefusedByRouteServer) as error:
            return self._leave(f"refuses the rule set: {error}")

    def _arrive(self, generation: int) -> SyncState:
        self._server.generation, self.error = generation, ""
        if not self._queue.open:
            self._queue.open = True
            self._turned(reachable=True)
        return SyncState.IN_STEP

    def _leave(self, reason: str) -> SyncState:
        self._server.generation, self.error = None, reason
        was = self._queue.open
        self._queue.close()
        if was:
            log.warning("%s is away: %s", self.name, reason)
            self._turned(reachable=False)
        return SyncState.AWAY

    def _turned(self, *, reachable: bool) -> None:
        """Note that the route server came or went; only the leader does so."""
        if self._leadership.leading:
            self._event_log.turned(self.name, reachable, self.error)
