"""The leader's work to bring a route server up to date. It compares rule sets document by document, not by generation
alone, so that it notices a database that was restored from a copy (`controller.routeservers.precedence`)."""

import logging
from typing import Any

from controller.core.restored import claim
from controller.replication.leadership import Leadership
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, Unreachable
from controller.routeservers.precedence import Precedence
from controller.routeservers.route_server import RouteServer, SendingHeld, ahead
from controller.runtime.event_log import EventLog
from controller.wire.rulesets import RuleSet

log = logging.getLogger(__name__)


class CatchUp:
    """`precedence` decides whether a route server that is ahead of the database is right."""

    def __init__(
        self, server: RouteServer, precedence: Precedence, leadership: Leadership, event_log: EventLog
    ) -> None:
        self._server, self._precedence = server, precedence
        self._leadership, self._event_log = leadership, event_log

    async def run(self) -> int:
        """Confirm the server's rule set if it is the current one, and replace it if not; return its generation. Raises
        SendingHeld, Unreachable, OtherGeneration, RefusedByRouteServer and Unavailable."""
        server = self._server
        status, found = await self._look()
        while True:
            if ahead(found, server.wanted()):
                await server.source.refresh()
            wanted = server.wanted()
            contested = self._precedence.contested(server.name)
            if found != wanted:
                await self._hold(status, found, wanted)
            if contested or ahead(found, wanted):
                # Agents may also have states of the same version that this database does not know.
                await self._precedence.see(server.name, found.generation)
                await self._overtake(found.generation)
                continue
            if found != wanted:
                log.info("%s: generation %s, sending %s whole", server.name, found.generation, wanted.generation)
                await server.replace(wanted)
                found = wanted
                continue
            await self._precedence.see(server.name, found.generation)
            if held := await self._precedence.settle():
                raise SendingHeld(f"not confirmed: {held}")
            if await self._confirm(found):
                return found.generation

    async def _look(self) -> tuple[dict[str, Any], RuleSet]:
        """Return the server's status and its rule set."""
        server = self._server
        await self._precedence.begin(self._leadership.term)
        try:
            status, found = await server.client.status(), await server.client.rule_set()
        except (Unreachable, OtherGeneration, RefusedByRouteServer):
            self._precedence.tried(server.name)
            raise
        started_at = str(status.get("started_at"))
        if started_at != server.started_at:
            server.last_event = await self._event_log.last_heard(server.name, started_at)
            server.started_at = started_at
        return status, found

    async def _hold(self, status: dict[str, Any], found: RuleSet, wanted: RuleSet) -> None:
        """Raise SendingHeld if the server must keep its rule set for now."""
        name, is_ahead, trial = self._server.name, ahead(found, wanted), status.get("confirm_by")
        if is_ahead and trial and status.get("fallback") == wanted.generation:
            raise SendingHeld(f"generation {found.generation} is on trial there until {trial}")
        contested = self._precedence.contested(name) or (is_ahead and not trial)
        await self._precedence.see(name, found.generation, claim(name, found, wanted) if contested else "")
        if held := await self._precedence.settle():
            raise SendingHeld(held)

    async def _overtake(self, generation: int) -> None:
        """Have the database go on above the generation that the server has."""
        name, number = self._server.name, self._server.source.rules().generation
        text = f"{name} was at generation {generation}, the database at {number}, an older copy: it goes on above"
        log.warning("%s", text)
        self._event_log.note("database-behind", name, text, generation=generation, database=number)
        await self._server.source.renew(generation)

    async def _confirm(self, found: RuleSet) -> bool:
        """Confirm the rule set in force, or put it on trial there if it is on trial here. Return False if it has
        changed meanwhile."""
        server = self._server
        trial = server.source.on_trial()
        if trial is None:
            await server.client.confirm(found.generation)
        else:
            await server.client.replace(found, trial.within)
        return found.generation == server.wanted().generation and (trial is None) == (server.source.on_trial() is None)
