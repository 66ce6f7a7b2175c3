"""The running parts of a controller, put together."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from controller.agents import Agents
from controller.bell import Bell
from controller.changes import Changes
from controller.core.desired import Fabric
from controller.core.intent import Intent
from controller.db import claims, cloudlets, events, generations, idempotency
from controller.db.engine import Database
from controller.db.schema import upgrade
from controller.journal import Journal
from controller.leases import Leases
from controller.metrics import Metrics
from controller.precedence import Precedence
from controller.propagation import Propagation
from controller.routeservers import RouteServerClient
from controller.settings import Settings, read_token
from controller.trials import keep_time
from controller.wire.desired import Speaker

log = logging.getLogger(__name__)

SWEEP = 5.0
"""Seconds between two looks for leases whose time is over."""

PRUNE = 60
"""Every so many sweeps old events and answers are forgotten."""


@dataclass(frozen=True)
class Region:
    """What the API works with."""

    settings: Settings
    admin_token: str | None
    fabric: Fabric
    database: Database
    agents: Agents
    changes: Changes
    journal: Journal
    leases: Leases
    metrics: Metrics
    bell: Bell
    precedence: Precedence

    @property
    def intent(self) -> Intent:
        """The intent at the current generation."""
        return self.changes.intent

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the controller stops: streams end, nobody waits any longer."""
        return self.changes.stopping


def _fabric(settings: Settings) -> Fabric:
    speakers = (Speaker(name=s.name, address=s.address, asn=settings.asn) for s in settings.route_servers)
    return Fabric(settings.asn, tuple(sorted(speakers, key=lambda speaker: speaker.name)))


def _region(settings: Settings) -> Region:
    database, agents, bell, metrics = Database(settings.database_url), Agents(), Bell(), Metrics()
    fabric = _fabric(settings)
    changes = Changes(database, agents, fabric, settings.agent_timeout, bell)
    journal = Journal(database, bell)

    def claimed(server: str, claim: str) -> None:
        log.error("%s", claim)
        journal.note("database-behind", server, claim)

    async def keep(ahead: Mapping[str, int]) -> None:
        async with database.write() as session:
            await claims.save(session, ahead)

    changes.observe = metrics.change_seconds.observe
    return Region(
        settings=settings,
        admin_token=read_token(settings.admin_token_file, "WEFT_ADMIN_TOKEN_FILE"),
        fabric=fabric,
        database=database,
        agents=agents,
        changes=changes,
        journal=journal,
        leases=Leases(database, lambda: changes.intent, bell),
        metrics=metrics,
        bell=bell,
        precedence=Precedence((server.name for server in settings.route_servers), claimed, keep),
    )


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Region]:
    """Brings the database up to date, reads the intent, and works until the block ends. Raises BadSettings."""
    token = read_token(settings.route_server_token_file, "WEFT_ROUTE_SERVER_TOKEN_FILE")
    region = _region(settings)
    changes, journal = region.changes, region.journal
    await upgrade(region.database)
    async with region.database.write() as session:
        await idempotency.forget_unfinished(session)
        region.precedence.resume(await claims.load(session))
    await changes.start(hashlib.sha256(repr(region.fabric).encode()).hexdigest())

    async def overtake(server: str, generation: int) -> None:
        number = changes.intent.generation
        text = f"{server} was at generation {generation}, the database at {number}, an older copy: it goes on above"
        log.warning("%s", text)
        journal.note("database-behind", server, text, generation=generation, database=number)
        await changes.renew(generation)

    for server in settings.route_servers:
        client = RouteServerClient(server, token, settings.agent_timeout)
        changes.route_servers.append(
            Propagation(
                server.name,
                client,
                changes.rules,
                changes.on_trial,
                journal.heard,
                journal.last_heard,
                journal.turned,
                changes.refresh,
                overtake,
                region.precedence,
            )
        )
    tasks = [asyncio.create_task(work) for work in (journal.run(), _sweep(region), keep_time(changes, region.bell))]
    tasks += [asyncio.create_task(server.run(), name=server.name) for server in changes.route_servers]
    for task in tasks:
        task.add_done_callback(_complain)
    try:
        yield region
    finally:
        changes.stopping.set()
        region.bell.ring()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _last_words(region)
        for propagation in changes.route_servers:
            await propagation.client.close()
        await region.database.close()


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("%s ended: %r", task.get_name(), error, exc_info=error)


async def _sweep(region: Region) -> None:
    turn = 0
    while True:
        await asyncio.sleep(SWEEP)
        turn += 1
        try:
            await region.leases.sweep()
            await _note_seen(region)
            if turn % PRUNE == 0:
                async with region.database.write() as session:
                    await events.prune(session)
                    await generations.prune(session)
                    await idempotency.prune(session)
        except Exception:  # whatever is wrong with the database now, the next sweep may find it well
            log.exception("sweep")


async def _note_seen(region: Region) -> None:
    if seen := region.agents.take_seen():
        async with region.database.write() as session:
            await cloudlets.note_seen(session, seen)


async def _last_words(region: Region) -> None:
    with suppress(Exception):
        await region.journal.flush()
        await _note_seen(region)
