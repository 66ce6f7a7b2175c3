"""The running parts of a controller, put together."""

import asyncio
import gc
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from controller.agents.impostors import Impostors
from controller.agents.neighbours import Neighbours
from controller.agents.probe_candidates import announce
from controller.agents.registry import Agents
from controller.agents.tunnels import Tunnels
from controller.auth import audit_context
from controller.auth.oidc_users import OidcUsers
from controller.auth.tokens import Tokens
from controller.changes.drift import Drift
from controller.changes.flow import Changes
from controller.changes.trials import keep_time
from controller.core.desired import Fabric
from controller.core.intent import Intent
from controller.core.unavailable import Unavailable
from controller.db import claims, cloudlets
from controller.db.engine import Database
from controller.db.notify_connection import NotifyConnection
from controller.db.schema import upgrade
from controller.identity.certificates import Certificates
from controller.identity.credential_proofs import AGENTS, Proofs, Refusals
from controller.identity.revocations import RevocationList
from controller.leases.clones import ClonedClients
from controller.leases.delegations import Delegations
from controller.leases.leases import Leases
from controller.leases.reservations import Reservations
from controller.leases.static_hosts import StaticHosts
from controller.leases.suspicions import Suspicions
from controller.leases.usage import Stocks
from controller.migration.evacuations import Evacuations
from controller.migration.follow_device import FollowDevice
from controller.migration.move_scheduler import MoveScheduler
from controller.migration.moves import Moves
from controller.migration.sightings import Sightings
from controller.migration.vms import Vms
from controller.replication.agent_presence import AgentPresence
from controller.replication.leadership import Leadership
from controller.replication.replicas import HELLO, Replicas
from controller.routeservers.client import RouteServerClient
from controller.routeservers.precedence import Precedence
from controller.routeservers.session_keys import SessionKeeper
from controller.routeservers.sync import RouteServerSync
from controller.runtime.event_log import EventLog
from controller.runtime.maintenance import CLONES, PRUNE, Chore, finish, prune, sweep
from controller.runtime.metrics import Metrics
from controller.runtime.wakeup import Wakeup
from controller.settings import Settings, read_secret, read_token
from controller.trust import found
from controller.trust.authority import AuthorityAway
from controller.trust.caller import Caller
from controller.trust.listener import Listener
from controller.wire.desired import Speaker
from controller.wire.release import release

log = logging.getLogger(__name__)

FORM = "permits"
"""Of rule sets: with another one than before, a region gets a new generation."""


@dataclass(frozen=True)
class Region:
    """What the API works with. `ended`: which background work has failed, and how; then the controller is stopping."""

    settings: Settings
    admin_token: str | None
    fabric: Fabric
    database: Database
    agents: Agents
    changes: Changes
    event_log: EventLog
    leases: Leases
    cloned_clients: ClonedClients
    delegations: Delegations
    stocks: Stocks
    statics: StaticHosts
    reservations: Reservations
    tokens: Tokens
    people: OidcUsers | None
    neighbours: Neighbours
    tunnels: Tunnels
    vms: Vms
    moves: Moves
    rounds: MoveScheduler
    evacuations: Evacuations
    sightings: Sightings
    impostors: Impostors
    deciding: FollowDevice
    metrics: Metrics
    wakeup: Wakeup
    precedence: Precedence
    drift: Drift
    replicas: Replicas
    agent_presence: AgentPresence
    certificates: Certificates
    revocations: RevocationList
    proofs: Proofs
    listener: Listener | None
    caller: Caller | None
    session_keys: SessionKeeper
    ended: list[str] = field(default_factory=list)

    @property
    def leadership(self) -> Leadership:
        """Which replica does the background work: `leading`, `lead(work)`."""
        return self.replicas.leadership

    @property
    def intent(self) -> Intent:
        """The intent at the current generation."""
        return self.changes.intent

    @property
    def stopping(self) -> asyncio.Event:
        """Set by `stop`."""
        return self.changes.waiting.stopping

    def stop(self) -> None:
        """The controller stops: streams end, nobody waits any longer."""
        self.stopping.set()
        self.wakeup.ring_here()
        self.agents.wake_all()


def _fabric(settings: Settings) -> Fabric:
    speakers = (Speaker(name=s.name, address=s.address, asn=settings.asn) for s in settings.route_servers)
    return Fabric(settings.asn, tuple(sorted(speakers, key=lambda s: s.name)), settings.enrolled_only)


def _region(settings: Settings) -> Region:
    authority = found.read(settings.authority_kind, settings.authority) if settings.authority else None
    database, agents, wakeup, metrics = Database(settings.database_url), Agents(), Wakeup(), Metrics()
    database.watch = audit_context.watch
    fabric = _fabric(settings)
    line = NotifyConnection(settings.database_url, settings.replica) if database.shared else None
    replicas = Replicas(settings.replica, release(), database, line, wakeup)
    changes = Changes(database, agents, fabric, settings.agent_timeout, wakeup, replicas)
    replicas.look.append(changes.refresh)
    agent_presence = AgentPresence(agents, replicas, database)
    changes.waiting.connected = agent_presence.connected
    event_log = EventLog(database, wakeup)

    def claimed(server: str, claim: str) -> None:
        log.error("%s", claim)
        event_log.note("database-behind", server, claim)

    async def keep(ahead: Mapping[str, int]) -> None:
        async with database.write() as session:
            await claims.save(session, ahead)
            await replicas.say(session, "claims")

    async def kept() -> Mapping[str, int]:
        async with database.read() as session:
            return await claims.load(session)

    leases = Leases(database, lambda: changes.intent, wakeup)
    leases.tell = lambda endpoint: replicas.tell("heard", [endpoint])
    replicas.hear["heard"] = lambda who, words: leases.heard.update(words)
    replicas.hear[HELLO] = lambda who, words: replicas.tell("heard", leases.heard)
    moves = Moves(database, changes, agents, replicas, wakeup)
    vms = Vms(database, lambda: changes.intent, wakeup)
    vms.order, vms.berths = moves.announce, moves.work.set

    def lease_seconds(endpoint: str) -> int:
        return leases.seconds(changes.intent.endpoints[endpoint])

    sightings = Sightings(
        database, lambda: changes.intent, lease_seconds, replicas, wakeup, Suspicions(event_log), metrics
    )
    deciding = FollowDevice(database, lambda: changes.intent, moves.start, wakeup)

    async def seen(device: str, endpoint: str) -> None:
        await moves.seen(device, endpoint)
        await deciding.seen(device, endpoint)

    sightings.seen = seen
    lifetime = timedelta(seconds=settings.certificate_seconds)
    certified = Certificates(database, authority, lifetime, changes, wakeup)
    refusals, listener = Refusals(event_log), None
    secret = read_secret(settings.session_secret_file, "WEFT_SESSION_SECRET_FILE")
    if authority is not None and settings.agent_listen:
        listener = Listener(authority, lifetime, lambda reason: refusals.note(AGENTS, reason))
    revocations = RevocationList(certified, agents, replicas)
    changes.waiting.observe = metrics.change_seconds.observe
    return Region(
        settings=settings,
        admin_token=read_token(settings.admin_token_file, "WEFT_ADMIN_TOKEN_FILE"),
        fabric=fabric,
        database=database,
        agents=agents,
        changes=changes,
        event_log=event_log,
        leases=leases,
        cloned_clients=ClonedClients(database, lambda: changes.intent, lease_seconds, event_log),
        delegations=Delegations(database, lambda: changes.intent, leases, wakeup),
        stocks=Stocks(database, lambda: changes.intent),
        statics=StaticHosts(database, lambda: changes.intent, wakeup),
        reservations=Reservations(database, leases, wakeup),
        tokens=Tokens(database, wakeup),
        people=OidcUsers.of(settings.oidc) if settings.oidc else None,
        neighbours=Neighbours(database, lambda: changes.intent, event_log, metrics),
        tunnels=Tunnels(database, lambda: changes.intent, event_log, metrics),
        vms=vms,
        moves=moves,
        rounds=MoveScheduler(database, changes, leases, moves),
        evacuations=Evacuations(database, lambda: changes.intent, moves),
        sightings=sightings,
        impostors=Impostors(event_log),
        deciding=deciding,
        metrics=metrics,
        wakeup=wakeup,
        drift=Drift(database, changes, metrics, wakeup),
        precedence=Precedence((server.name for server in settings.route_servers), claimed, keep, kept),
        replicas=replicas,
        agent_presence=agent_presence,
        certificates=certified,
        proofs=Proofs(database, refusals, tls_only=settings.agent_tls_only),
        listener=listener,
        caller=Caller(authority, revocations.document) if authority is not None else None,
        session_keys=SessionKeeper(database, secret, lambda: changes.intent, agents, wakeup),
        revocations=revocations,
    )


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Region]:
    """Brings the database up to date, reads the intent, and works until the block ends. Raises BadSettings."""
    token = read_token(settings.route_server_token_file, "WEFT_ROUTE_SERVER_TOKEN_FILE")
    region = _region(settings)
    changes, event_log = region.changes, region.event_log
    await upgrade(region.database)
    await changes.start(hashlib.sha256(f"{FORM} {region.fabric!r}".encode()).hexdigest())
    gc.collect()
    gc.freeze()  # what was read stays: to look through it for garbage, over and over, takes seconds in a large region

    async def overtake(server: str, generation: int) -> None:
        number = changes.intent.generation
        text = f"{server} was at generation {generation}, the database at {number}, an older copy: it goes on above"
        log.warning("%s", text)
        event_log.note("database-behind", server, text, generation=generation, database=number)
        await changes.renew(generation)

    async def turned(server: str, reachable: bool, reason: str) -> None:
        if region.leadership.leading:  # one voice is enough
            await event_log.turned(server, reachable, reason)

    tls = region.caller.context if region.caller is not None else None
    for server in settings.route_servers:
        client = RouteServerClient(server, token, settings.agent_timeout, tls)
        changes.route_servers.append(
            RouteServerSync(
                server.name,
                client,
                changes.rules,
                changes.on_trial,
                event_log.heard,
                event_log.last_heard,
                turned,
                changes.refresh,
                overtake,
                region.precedence,
                region.leadership,
                shared=region.database.shared,
            )
        )
    await region.drift.boot()
    background = (
        lambda: _lead(region),
        lambda: keep_time(changes, region.wakeup),
        region.drift.watch,
        region.sightings.decide,
        region.deciding.watch,
        region.rounds.run,
    )
    works = [
        event_log.run(),
        region.replicas.run(),
        region.agent_presence.run(),
        sweep([Chore(partial(_tell_held, region)), Chore(partial(_note_seen, region))]),
        _follow(region),
    ]
    works += map(region.leadership.lead, background)
    works.append(region.revocations.watch(lambda: _another(region)))
    if region.listener is not None:
        works.append(region.listener.run())
    if region.caller is not None:
        works.append(region.caller.run())
    tasks = [asyncio.create_task(work, name=getattr(work, "__qualname__", None)) for work in works]
    tasks.append(asyncio.create_task(region.neighbours.run(changes.waiting.stopping), name="neighbours"))
    tasks.append(asyncio.create_task(region.tunnels.run(), name="tunnels"))
    tasks.append(asyncio.create_task(region.sightings.run(), name="sightings"))
    tasks.append(asyncio.create_task(announce(lambda: changes.intent, region.agents, region.wakeup), name="announcing"))
    await region.replicas.settled.wait()
    keeping = region.session_keys.run(changes.route_servers, region.leadership)
    tasks.append(asyncio.create_task(keeping, name="session keys"))
    tasks += [asyncio.create_task(server.run(), name=server.name) for server in changes.route_servers]
    for task in tasks:
        task.add_done_callback(partial(_unless_cancelled, region))
    try:
        yield region
    finally:
        region.stop()
        region.wakeup.ring()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        held = partial(_tell_held, region, all_=True)
        await finish(
            [region.neighbours.flush, region.tunnels.flush, held, event_log.flush, partial(_note_seen, region)]
        )
        for propagation in changes.route_servers:
            await propagation.client.close()
        if region.people is not None:
            await region.people.issuer.close()
        await region.database.close()


async def _lead(region: Region) -> None:
    """What the leader does over and over."""
    region.delegations.begin()
    each = (
        region.leases.sweep,
        region.delegations.rest,
        region.statics.sweep,
        region.stocks.take,
        region.neighbours.sweep,
        region.tunnels.sweep,
    )
    seldom = (region.rounds.prune, region.rounds.hold, partial(prune, region.database), partial(_remind, region))
    chores = [Chore(work) for work in each]
    chores.append(Chore(region.cloned_clients.tell, CLONES))
    await sweep([*chores, *(Chore(work, PRUNE) for work in seldom)])


async def _remind(region: Region) -> None:
    region.certificates.remind(region.event_log)


async def _tell_held(region: Region, *, all_: bool = False) -> None:
    region.event_log.tell_held(leading=region.leadership.leading, all_=all_)


async def _note_seen(region: Region) -> None:
    """What this replica knows of its own agents, it writes down."""
    if seen := region.agents.take_seen():
        async with region.database.write() as session:
            await cloudlets.note_seen(session, seen)


def _unless_cancelled(region: Region, task: asyncio.Task[None]) -> None:
    """A task that fails takes the controller with it: half of one would answer, and not do what it says. `ended` has
    the reason, and whoever started the controller starts it again."""
    if not task.cancelled() and (error := task.exception()):
        log.critical("%s failed, and the controller ends: %r", task.get_name(), error, exc_info=error)
        region.ended.append(f"{task.get_name()} failed: {error!r}")
        region.stop()


async def _follow(region: Region) -> None:
    """Takes over what other replicas say that they have changed."""
    if region.replicas.alone:
        return
    changed = asyncio.Event()
    region.replicas.hear["intent"] = region.replicas.hear["claims"] = lambda who, words: changed.set()
    while True:
        await changed.wait()
        changed.clear()
        try:
            await region.changes.refresh()
            if region.leadership.leading:
                await region.precedence.look()
        except Unavailable as away:
            log.warning("what others have changed cannot be read yet: %s", away)


async def _another(region: Region) -> None:
    """The authority is another than it was."""
    region.event_log.note("authority-changed", "authority", "who is trusted, or who issues, was changed")
    if region.listener is not None:
        try:
            await region.listener.renew()
        except AuthorityAway as away:
            log.error("%s", away)
