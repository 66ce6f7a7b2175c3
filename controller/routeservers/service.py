"""The service for the region's route servers: keeps them in step with the intent, and sends them the keys of BGP
sessions."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from controller.agents.registry import Agents
from controller.core.intent import Intent
from controller.core.unavailable import Unavailable
from controller.replication.service import ReplicationService
from controller.routeservers.client import RouteServerClient
from controller.routeservers.precedence import CLAIMS, Precedence
from controller.routeservers.route_server import RuleSource
from controller.routeservers.session_keys import SessionKeeper
from controller.routeservers.sync import RouteServerSync
from controller.runtime.runtime import Runtime
from controller.runtime.service import Service, forever
from controller.settings import Settings, read_secret, read_token

log = logging.getLogger(__name__)


class RouteServersService(Service):
    """`syncs` has one item for each route server that is configured. Raises BadSettings."""

    name: ClassVar[str] = "route servers"

    def __init__(
        self,
        settings: Settings,
        runtime: Runtime,
        registry: Agents,
        source: RuleSource,
        intent: Callable[[], Intent],
        tls: ssl.SSLContext | None,
        replication: ReplicationService,
    ) -> None:
        token = read_token(settings.route_server_token_file, "WEFT_ROUTE_SERVER_TOKEN_FILE")
        secret = read_secret(settings.session_secret_file, "WEFT_SESSION_SECRET_FILE")
        database, event_log, replicas = runtime.database, runtime.event_log, replication.replicas
        self._replicas, self._leadership, self._signs = replicas, replication.leadership, secret is not None
        names = [server.name for server in settings.route_servers]
        self.precedence = Precedence(names, database, replicas, event_log)
        self.session_keys = SessionKeeper(database, secret, intent, registry, runtime.wakeup)
        self.syncs = [
            RouteServerSync(
                server.name,
                RouteServerClient(server, token, settings.agent_timeout, tls),
                source,
                self.precedence,
                self._leadership,
                event_log,
                shared=database.shared,
            )
            for server in settings.route_servers
        ]
        self._claims_changed = asyncio.Event()
        replicas.hear[CLAIMS] = lambda who, words: self._claims_changed.set()

    async def start(self) -> None:
        """Wait until it is known whether this replica leads, because its work for a route server depends on it."""
        await self._replicas.settled.wait()

    async def run(self) -> None:
        """Keep each route server in step, and send keys where sessions are signed."""
        keys = [partial(self.session_keys.run, self.syncs, self._leadership)] if self._signs else []
        await forever(self._follow_claims, *keys, *(sync.run for sync in self.syncs))

    async def close(self) -> None:
        """Close the connections."""
        for sync in self.syncs:
            await sync.client.close()

    async def _follow_claims(self) -> None:
        while True:
            await self._claims_changed.wait()
            self._claims_changed.clear()
            try:
                if self._leadership.leading:
                    await self.precedence.look()
            except Unavailable as away:
                log.warning("the claims of route servers cannot be read yet: %s", away)
