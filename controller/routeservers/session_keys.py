"""Keys of BGP sessions: decides, step by step, which are in force (`controller.core.session_keys`), and sends them.

The leader decides, and sends keys to route servers; each replica sends keys to its agents. A decision is in the
database before it is sent. Route servers get keys before agents do. Route servers and agents that were away get their
keys when they are back; for route servers, the digests of their keys are compared."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address

from controller.agents.registry import Agents
from controller.core.intent import Cloudlet, Intent
from controller.core.refusals import conflict, missing
from controller.core.session_keys import SessionKeys as Keys
from controller.core.session_keys import advance, digest, password, standing
from controller.core.session_stability import SessionStability
from controller.core.unavailable import Unavailable
from controller.db import events
from controller.db import session_keys as table
from controller.db.engine import Database
from controller.db.session_keys import SessionKeysRow
from controller.replication.leadership import Leadership
from controller.routeservers.client import OtherGeneration, RefusedByRouteServer, Unreachable
from controller.routeservers.sync import RouteServerSync
from controller.runtime.wakeup import Wakeup
from controller.wire.session_keys import SessionKey, SessionKeys, SessionKeysHeld

log = logging.getLogger(__name__)

LOOK = 1.0
"""Seconds between two looks at the keys in force, and at the keys of route servers."""


class SessionKeeper:
    """`secret` is the region's secret, None where sessions are not signed: then no keys are decided or sent."""

    def __init__(
        self, database: Database, secret: bytes | None, intent: Callable[[], Intent], agents: Agents, wakeup: Wakeup
    ) -> None:
        self._database, self._secret, self._intent, self._agents, self._wakeup = (
            database,
            secret,
            intent,
            agents,
            wakeup,
        )
        self._rows: dict[str, SessionKeysRow] = {}
        self._able: set[str] = set()
        self._settling = SessionStability()
        self._turn = asyncio.Event()

    def document(self, cloudlet: Cloudlet) -> SessionKeys | None:
        """Return the keys for the cloudlet's agent; None where there are none."""
        row = self._rows.get(cloudlet.name)
        if self._secret is None or row is None or row.credential != cloudlet.credential:
            return None
        sessions = {
            server: SessionKey(key=key, password=password(self._secret, cloudlet.name, server, key))
            for server, key in sorted(row.in_force.items())
        }
        return SessionKeys(wanted=row.wanted, sessions=sessions)

    async def take(self, cloudlet: Cloudlet, said: SessionKeysHeld) -> None:
        """Take in an agent's report on its keys."""
        async with self._database.write() as session:
            row = await table.get(session, cloudlet.name)
            if row is not None and row.credential == cloudlet.credential:
                row.held, row.seen = said.held, dict(said.seen)
        self._turn.set()

    async def rekey(self, cloudlet: str, *, off: bool) -> dict[str, str] | None:
        """Give all sessions of a cloudlet another key, or none if `off`. Return the keys by route server for an
        unmanaged PE, for which they are in force at once: its operator takes them there. None for others."""
        if self._secret is None:
            raise conflict("BGP sessions are not signed here: WEFT_SESSION_SECRET_FILE is not set")
        intent, key = self._intent(), None if off else _new()
        if cloudlet not in intent.cloudlets:
            raise missing("cloudlet", cloudlet, intent.cloudlets)
        unmanaged = intent.cloudlets[cloudlet].unmanaged
        async with self._database.write() as session:
            row = await table.get(session, cloudlet)
            if row is None and not unmanaged:
                raise conflict(f"{cloudlet} has no keys: its agent has not enrolled")
            if row is None:
                row = SessionKeysRow(cloudlet=cloudlet, credential="", in_force={}, seen={})
                session.add(row)
            row.wanted = key
            if unmanaged:
                row.held = key
            text = f"BGP sessions of {cloudlet} " + ("are not signed any more" if off else "get another key")
            await events.add(session, "session-keys", cloudlet, text)
        self._turn.set()
        self._wakeup.ring()
        if not unmanaged or key is None:
            return None
        return {server: password(self._secret, cloudlet, server, key) for server in sorted(intent.route_servers)}

    def all(self) -> dict[str, Keys]:
        """Return the keys by cloudlet; empty where sessions are not signed."""
        return {name: row.keys for name, row in self._rows.items()} if self._secret is not None else {}

    def standing(self, cloudlet: str) -> dict[str, str] | None:
        """Return how each session is signed, by route server, for users. None where there are no keys."""
        row, known = self._rows.get(cloudlet), self._intent().cloudlets.get(cloudlet)
        if self._secret is None or row is None:
            return None
        if known is not None and known.unmanaged:  # there is no agent to say which of them a session has
            return dict.fromkeys(sorted(row.in_force), "key in force")
        return standing(row.keys)

    async def run(self, servers: Sequence[RouteServerSync], leadership: Leadership) -> None:
        """Decide and send keys until cancelled. Requires a secret."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self._turn.wait()
            self._turn.clear()
            try:
                rows = await self._load()
                if leadership.leading:
                    if await self._decide(rows, [s.name for s in servers]):
                        rows = await self._load()
                    await asyncio.gather(*(self._bring(server, rows) for server in servers))
            except Unavailable:
                continue
            before, self._rows = self._rows, rows
            for name, row in rows.items():
                if name not in before or before[name].keys != row.keys:
                    self._agents.wake(name)

    async def _load(self) -> dict[str, SessionKeysRow]:
        async with self._database.read() as session:
            return await table.load(session)

    async def _decide(self, rows: Mapping[str, SessionKeysRow], servers: list[str]) -> bool:
        """Take one step for each cloudlet that is due one. Returns whether there was any."""
        intent = self._intent()
        cloudlets = {n: c for n, c in intent.cloudlets.items() if (c.credential or c.unmanaged) and intent.has_pe(c)}
        stale = [n for n, r in rows.items() if n not in cloudlets or (cloudlets[n].credential or "") != r.credential]
        fresh = [n for n, c in cloudlets.items() if not c.unmanaged and (n not in rows or n in stale)]
        self._settling.look({n: r.keys for n, r in rows.items()}, time.monotonic())

        def next_of(name: str, keys: Keys) -> dict[str, str]:
            return advance(keys, servers, self._able, self._settling.settled(name, servers))

        ahead = [n for n, r in rows.items() if n not in stale and next_of(n, r.keys) != r.in_force]
        if not stale and not fresh and not ahead:
            return False
        async with self._database.write() as session:
            for name in stale:
                await table.forget(session, name)
            for name in fresh:
                credential = cloudlets[name].credential or ""
                row = SessionKeysRow(cloudlet=name, credential=credential, wanted=_new(), in_force={}, seen={})
                session.add(row)
            for name in ahead:
                if (found := await table.get(session, name)) is not None:
                    found.in_force = next_of(name, found.keys)
                    log.info("BGP sessions of %s: keys in force at %s", name, ", ".join(sorted(found.in_force)))
        return True

    async def _bring(self, server: RouteServerSync, rows: dict[str, SessionKeysRow]) -> None:
        """Give a route server the keys in force if it has others, and note whether it takes keys."""
        assert self._secret is not None
        cloudlets, wanted = self._intent().cloudlets, {}
        for name, row in rows.items():
            cloudlet, key = cloudlets.get(name), row.in_force.get(server.name)
            if cloudlet is not None and cloudlet.speaks and key is not None:
                wanted[str(ip_address(cloudlet.vtep))] = password(self._secret, name, server.name, key)
        self._able.discard(server.name)
        if not server.reachable:
            return
        try:
            if await server.client.keys() != digest(wanted):
                await server.client.tell_keys(wanted)
        except RefusedByRouteServer as refused:
            log.debug("%s takes no keys: %s", server.name, refused)
        except (Unreachable, OtherGeneration) as error:
            log.info("%s: keys: %s", server.name, error)
        else:
            self._able.add(server.name)


def _new() -> str:
    return secrets.token_hex(8)
