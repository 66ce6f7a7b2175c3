"""Decides whether a route server that is ahead of the database is right. If it is, the database is an old copy.

If the copy would give access that was taken away since, nothing is sent to any route server that is not in step, until
the same access is taken away in the database, or an operator says that the copy counts. Until then route servers keep
their rule sets. The claim of a route server is kept in the database, because the database's generation grows with every
change and may pass the one that the route server has."""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from controller.db import claims
from controller.db.engine import Database
from controller.replication.replicas import Replicas
from controller.runtime.event_log import EventLog

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds after a start in which all route servers are looked at before anything is sent to one of them."""

CLAIMS = "claims"
"""The replicas' message that the claims in the database have changed."""


class Precedence:
    """The claims of all route servers of a region, by name. The leader decides; the other replicas only read the claims
    in the database. Every method that is a coroutine may raise Unavailable."""

    def __init__(self, servers: Iterable[str], database: Database, replicas: Replicas, event_log: EventLog) -> None:
        self._database, self._replicas, self._event_log = database, replicas, event_log
        self._servers = frozenset(servers)
        self._term = -1
        self._beginning = asyncio.Lock()
        self._claims: dict[str, str] = {}
        self._ahead: dict[str, int] = {}
        self._accepted = 0
        self._unseen = set(self._servers)
        self._seen = asyncio.Event()

    async def begin(self, term: int) -> None:
        """Take over the claims from before a restart of the controller, or of the former leader, once in a term. Claims
        of route servers that are no longer configured count as well, because they show that the database is an old
        copy."""
        async with self._beginning:
            if term == self._term:
                return
            kept = await self._kept()
            self._term = term
            self._claims = {server: _standing(server, generation) for server, generation in kept.items()}
            self._ahead = dict(kept)
            self._unseen = set(self._servers)
            self._seen.clear()

    async def held(self) -> str:
        """Return a claim from the database, or an empty string. For a replica that does not lead."""
        return next((_standing(server, generation) for server, generation in (await self._kept()).items()), "")

    async def look(self) -> None:
        """Settle claims that are no longer in the database: another replica may have been told that the database is
        right."""
        if self._term >= 0:
            kept = await self._kept()
            for server in self._ahead.keys() - kept.keys():
                self._accepted = max(self._accepted, self._ahead.pop(server))
                self._claims.pop(server, None)

    def contested(self, server: str) -> bool:
        """Return whether a route server has a claim, whatever generation the database has now."""
        return server in self._ahead

    async def see(self, server: str, generation: int, claim: str = "") -> None:
        """Record a look at a route server, with its claim to be right if it has one."""
        before = dict(self._ahead)
        if claim and generation > self._accepted:
            if self._claims.get(server) != claim:
                log.error("%s", claim)
                self._event_log.note("database-behind", server, claim)
            self._claims[server], self._ahead[server] = claim, generation
        else:
            self._claims.pop(server, None)
            self._ahead.pop(server, None)
        if self._ahead != before:
            await self._keep(self._ahead)
        self.tried(server)

    def tried(self, server: str) -> None:
        """Record that a route server was looked at, or cannot be reached. It keeps its claim."""
        self._unseen.discard(server)
        if not self._unseen:
            self._seen.set()

    async def settle(self) -> str:
        """Wait until all route servers were tried, `PATIENCE` at most. Return a claim that stands, or an empty
        string."""
        if not self._seen.is_set():
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._seen.wait()
            except TimeoutError:
                self._seen.set()
        return next(iter(self._claims.values()), "")

    async def overtake(self) -> dict[str, int]:
        """Drop all claims, because the operator says that the database is right. Return the route servers that had one,
        with their generations."""
        overtaken = dict(sorted((await self._kept()).items()))
        self._accepted = max([self._accepted, *overtaken.values()])
        self._claims.clear()
        self._ahead.clear()
        await self._keep(self._ahead)
        return overtaken

    async def _keep(self, ahead: Mapping[str, int]) -> None:
        """Write the generations of the route servers that have a claim to the database."""
        async with self._database.write() as session:
            await claims.save(session, ahead)
            await self._replicas.say(session, CLAIMS)

    async def _kept(self) -> Mapping[str, int]:
        async with self._database.read() as session:
            return await claims.load(session)


def _standing(server: str, generation: int) -> str:
    return (
        f"{server} was ahead of the database, at generation {generation}, and has not been reached since. "
        f"If it is gone for good, or nothing to heed: weft route overtake"
    )
