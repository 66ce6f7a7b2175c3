"""The agent: it takes the desired state and BGP routes in, changes the kernel, and sends reports. One task reconciles;
every other task only wakes it."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from agents.access import Access
from agents.backoff import Backoff
from agents.bgp.gobgp import Gobgp, SpeakerIntent
from agents.bgp.session_keys import SessionSigning
from agents.controller.client import Controller, ControllerAway, ControllerRefused, Document
from agents.controller.report import report
from agents.controller.reporter import Reporter
from agents.fence import BUDGETS, TABLE
from agents.fence.watch import RuleWatch
from agents.guests import Guests
from agents.host import Host
from agents.hypervisors.found import Drivers
from agents.hypervisors.ports import arrivals
from agents.identity import Identity
from agents.images import Images
from agents.images.fetch import Store
from agents.ipsec import Protection
from agents.kernel import vpls
from agents.kernel.events import watching
from agents.kernel.lan import bridge_name
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.ports import on_bridge
from agents.leases import Leases, Ports
from agents.mac_moves import MacMoves
from agents.metrics import Metrics, Seen
from agents.moves import Moves
from agents.moves.gateway import forget
from agents.multipath import Multipath
from agents.multipath.address6 import address6
from agents.multipath.on_home_lan import on_home_lan
from agents.neighbours import Neighbours
from agents.nft import Nft
from agents.passages import Prober, Verifier
from agents.reconcile import Outcome, Reconciler
from agents.services import EvpnSpeaker, LanServers, flavours
from agents.settings import Settings
from agents.sightings import Sightings
from agents.sources import Sources
from agents.sources.rules import TABLE as SOURCES
from agents.storage.state import StateDirectory, StateError
from controller.wire.access import Access as AccessRules
from controller.wire.certificates import Authorities, Revocations
from controller.wire.desired import Desired
from controller.wire.findings import Finding
from controller.wire.flavours import Flavour
from controller.wire.images import WantedImages
from controller.wire.log_fields import about
from controller.wire.moves import Orders
from controller.wire.neighbours import Candidates
from controller.wire.probes import ProbeRequest
from controller.wire.session_keys import SessionKeys

log = logging.getLogger(__name__)

_INTERVAL = 30.0  # seconds without a change after which the kernel is read and reported all the same
_RETRY = 1.0  # seconds after which a failed operation is tried again
_FIRST_LOOK = 10.0  # seconds that a report waits for a speaker that neither answers nor refuses


class Agent:
    """One cloudlet's agent. `run()` works until it is cancelled, and then leaves the kernel as it is."""

    def __init__(
        self, settings: Settings, state: StateDirectory, controller: Controller, identity: Identity, version: str
    ) -> None:
        self._state, self._controller, self._version = state, controller, version
        self._dirty, self._news = asyncio.Event(), asyncio.Event()
        self._identity = identity
        identity.changed = self._identified
        self._gobgp = Gobgp(settings.gobgp.api, self._dirty.set)
        self._frr = EvpnSpeaker(settings.frr, self._dirty.set, settings.bgp.hops)
        self._hops = settings.bgp.hops
        self._signing = SessionSigning(settings.cloudlet, state, controller, self._dirty.set)
        own = settings.state_dir / "identity"
        self._protection = Protection(settings.ipsec, own, self._dirty.set)
        self._access = Access(settings.cloudlet, state, controller)
        self._nft = Nft()
        tables, file = (TABLE, BUDGETS, SOURCES), settings.metrics.file
        self._metrics = Metrics(settings.cloudlet, version, file, self._nft, tables, self._seen)
        tally, self._connected = self._metrics.tally, False
        self._host, self._prober = Host(self._dirty.set), Prober(self._dirty.set)
        self._verifier = Verifier(settings.cloudlet, controller)
        self._mac_moves = MacMoves(self._dirty.set)
        self._rules = RuleWatch(self._nft, self._dirty.set, self._host.wake)
        self._sources = Sources(self._nft, state, self._dirty.set)
        self._leases = Leases(controller, settings.state_dir / "leases", self._sources, self._dirty.set, self._ports)
        self._sightings = Sightings(settings.cloudlet, controller, self._nft)
        self._servers = LanServers(self._sightings.witness(self._leases), tally.message)
        self._neighbours = Neighbours(settings.cloudlet, controller, tally.probed)
        self._arrivals = arrivals(driver.options for driver in settings.hypervisors.values())
        hypervisors, encrypted = settings.state_dir / "hypervisors", settings.ipsec is not None
        drivers = Drivers(settings.cloudlet, hypervisors, settings.hypervisors, encrypted=encrypted, identity=own)
        images = settings.images
        store = Store(images.directory, own, images.most_bytes, images.credentials)
        self._images = Images(
            settings.cloudlet, controller, settings.state_dir, store, images.port, drivers.images, tally.restarted
        )
        self._multipath = Multipath(
            self._bridge,
            self._servers.greet,
            address6=lambda address: address6(self._desired, address),
            home=lambda endpoint, address: on_home_lan(self._desired, endpoint, address),
        )
        folder = settings.state_dir / "moves"
        self._moves = Moves(
            settings.cloudlet,
            folder,
            controller,
            drivers,
            self._multipath.switch,
            self._leases,
            self._sources,
            forget,
            tally.order,
        )
        self._guests = Guests(self._moves, self._dirty.set)
        self._desired = state.desired()
        if self._desired is not None:
            self._moves.know(self._protection.fit(self._desired))
            self._images.serve(self._desired.vtep)
        self._reporter = Reporter(controller, _INTERVAL)
        self._began = 0.0
        self._controller_is = ""

    async def run(self) -> None:
        """Run every task of the agent. An exception that leaves this method is a defect of the agent itself."""
        self._dirty.set()
        self._began = asyncio.get_running_loop().time()
        asyncio.get_running_loop().call_later(_FIRST_LOOK, self._dirty.set)
        try:
            async with Kernel() as kernel, asyncio.TaskGroup() as group:
                reconciler = Reconciler(kernel, self._nft, self._protection.guard, self._access, self._arrivals)
                tasks: list[Coroutine[None, None, None]] = [
                    self._reconcile(kernel, reconciler),
                    self._follow(),
                    self._keep(),
                    self._reporter.run(),
                    self._gobgp.run(),
                    self._frr.run(),
                    self._protection.run(),
                    self._neighbours.run(),
                    self._sightings.run(),
                    self._access.run(),
                    self._rules.run(),
                    self._host.run(),
                    self._mac_moves.run(),
                    self._prober.run(),
                    self._verifier.run(),
                    self._moves.run(),
                    self._guests.run(),
                    self._identity.run(),
                    self._signing.run(),
                    self._leases.watch(),
                    self._images.run(),
                    self._metrics.run(),
                ]
                for task in tasks:
                    group.create_task(task)
        finally:
            self._multipath.close()
            await self._servers.stop()
            await self._leases.stop()
            await self._sources.stop()

    def _identified(self) -> None:
        self._protection.look()
        self._dirty.set()

    # Desired state.

    async def _follow(self) -> None:
        backoff = Backoff()

        def opened() -> None:
            backoff.reset()
            self._note(True, "connected")
            self._reporter.again()

        take: dict[type[Document], Callable[[Any], None]] = {
            Desired: self._intend,
            Candidates: self._neighbours.intend,
            Orders: self._moves.intend,
            Authorities: self._identity.trust,
            Revocations: self._identity.revoked,
            SessionKeys: self._signing.take,
            AccessRules: self._filter,
            WantedImages: self._images.intend,
            ProbeRequest: self._verifier.intend,
        }
        while True:
            version = self._desired.version if self._desired is not None else None
            try:
                async for document in self._controller.desired(version, opened):
                    take[type(document)](document)
            except ControllerAway as away:
                self._note(False, str(away))
            except ControllerRefused as refused:
                self._note(False, f"refused ({refused.status}): {refused}")
                self._identity.wake()
            await asyncio.sleep(backoff.delay())

    def _intend(self, desired: Desired) -> None:
        with about(generation=desired.generation):
            log.info("desired state %d, generation %d", desired.version, desired.generation)
        self._desired = desired
        self._moves.know(self._protection.fit(desired))
        self._images.serve(desired.vtep)
        self._identity.wake()
        self._dirty.set()
        self._news.set()

    def _filter(self, rules: AccessRules) -> None:
        self._access.intend(rules)
        self._dirty.set()

    def _note(self, connected: bool, text: str) -> None:
        if text != self._controller_is:
            log.log(logging.INFO if connected else logging.WARNING, "controller: %s", text)
        self._controller_is, self._connected = text, connected

    async def _keep(self) -> None:
        """Save the desired state after each change, for a start without the controller. This task is separate, so that
        the reconcile pass does not wait for the disk."""
        saved = self._desired
        while True:
            await self._news.wait()
            self._news.clear()
            if self._desired is not None and self._desired is not saved:
                saved = self._desired
                try:
                    await asyncio.to_thread(self._state.save_desired, saved)
                except StateError as error:
                    log.error("the desired state is not kept for a restart: %s", error)

    # Kernel.

    def _bridge(self, endpoint: str) -> str | None:
        """Return the bridge interface of an endpoint's LAN, or None if the endpoint is not at this cloudlet."""
        endpoints = self._desired.endpoints if self._desired is not None else []
        return next((bridge_name(lan) for lan in endpoints if lan.name == endpoint), None)

    def _ports(self, endpoint: str) -> Ports:
        return Ports(partial(self._mac_moves.port_of, endpoint), lambda: len(self._sources.ports(endpoint)))

    async def _reconcile(self, kernel: Kernel, reconciler: Reconciler) -> None:
        await kernel.read()  # gives the netlink socket its port id
        with watching(kernel.port_id, self._dirty.set):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_INTERVAL):
                        await self._dirty.wait()
                self._dirty.clear()
                desired = self._desired
                if desired is None:
                    continue
                began = time.monotonic()
                well = await self._converge(self._protection.fit(desired), reconciler)
                self._metrics.tally.reconciled(well, time.monotonic() - began)
                if not well:
                    asyncio.get_running_loop().call_later(_RETRY, self._dirty.set)

    async def _converge(self, desired: Desired, reconciler: Reconciler) -> bool:
        """Run one reconcile pass. Return whether all of it succeeded."""
        began = time.monotonic()
        try:
            self._protection.intend(desired)
            if await reconciler.shut(desired):
                self._speak(desired)
            outcome = await reconciler.converge(desired, self._gobgp)
        except (KernelError, ValueError) as error:
            log.error("%s", error)
            return False
        served = await self._serve(desired, outcome)
        self._sightings.intend(desired)
        if served and not outcome.failed:
            self._rules.restored(began)
        problems = self._problems(desired, outcome)
        sessions = self._sessions(desired)
        awaited = self._protection.awaited
        ipsec = self._protection.report()
        self._prober.intend(desired)
        self._verifier.know(desired)
        passages = {endpoint.name: self._prober.passages(endpoint.name) for endpoint in desired.endpoints}
        found = self._findings(desired)
        if not self._looked(desired):
            return served and not outcome.failed
        self._reporter.offer(
            report(desired, outcome.snapshot, sessions, problems, self._version, awaited, ipsec, found, passages)
        )
        return served and not outcome.failed

    def _speak(self, desired: Desired) -> None:
        needed = flavours(desired)
        passwords = self._signing.passwords(desired.speakers)
        if Flavour.VPLS in needed or self._gobgp.intended:
            table = self._gobgp.table
            endpoints = [e for e in desired.endpoints if e.flavour is Flavour.VPLS]
            announced = frozenset(a for e in endpoints for a in vpls.announcements(e, table))
            speakers = tuple(desired.speakers)
            self._gobgp.intend(
                SpeakerIntent(desired.asn, desired.router_id, desired.vtep, speakers, announced, passwords, self._hops)
            )
        if Flavour.EVPN in needed or self._frr.intended:
            self._frr.intend(desired, passwords)

    async def _serve(self, desired: Desired, outcome: Outcome) -> bool:
        """Match the servers to the LANs. Return whether all of them run."""
        interfaces = {}
        for name in outcome.snapshot.bridges:
            with suppress(OSError):
                interfaces[name] = socket.if_nametoindex(name)
        unkept = await self._leases.follow(desired)
        problems = await self._servers.serve(desired, interfaces, self._leases.hosts)
        for problem in unkept:
            problems.setdefault(0, []).append(problem)
        ports = {bridge_name(e): on_bridge(outcome.snapshot, e) for e in desired.endpoints}
        if (unguarded := await self._sources.apply(desired, ports)) is not None:
            problems.setdefault(0, []).append(unguarded)
        for index, texts in problems.items():
            outcome.problems.setdefault(index, []).extend(texts)
        return not problems

    def _findings(self, desired: Desired) -> list[Finding]:
        self._host.intend(tuple(bridge_name(endpoint) for endpoint in desired.endpoints))
        self._mac_moves.intend(desired)
        found = [*self._rules.findings(), *self._host.findings, *self._leases.findings(), *self._mac_moves.findings()]
        found += self._guests.findings()
        for endpoint in desired.endpoints:
            if endpoint.flavour is Flavour.VPLS:
                found += vpls.mismatches(endpoint, self._gobgp.table)
        return found

    def _looked(self, desired: Desired) -> bool:
        """Return whether the agent knows the sessions, or has waited for long enough. A report before its first look
        would call them idle, although they live on while an agent is replaced."""
        if asyncio.get_running_loop().time() >= self._began + _FIRST_LOOK:
            return True
        speakers = {Flavour.VPLS: self._gobgp.looked, Flavour.EVPN: self._frr.looked}
        return all(speakers[flavour] for flavour in flavours(desired))

    def _sessions(self, desired: Desired) -> dict[str, str]:
        needed = flavours(desired)
        sessions = dict(self._gobgp.sessions)
        if Flavour.EVPN in needed:
            sessions |= self._frr.sessions
        return sessions

    def _problems(self, desired: Desired, outcome: Outcome) -> dict[int, list[str]]:
        speakers = {Flavour.VPLS: self._gobgp.problem, Flavour.EVPN: self._frr.problem}
        signed = self._gobgp.signed | (self._frr.signed if Flavour.EVPN in flavours(desired) else {})
        unsigned = self._signing.look(desired.speakers, self._sessions(desired), signed)
        problems = {}
        for endpoint in desired.endpoints:
            texts = [*outcome.problems.get(0, []), *outcome.problems.get(endpoint.index, [])]
            texts += filter(None, (speakers[endpoint.flavour], self._identity.problem))
            texts += unsigned
            texts += self._protection.problems(endpoint)
            texts += self._access.problems.get(endpoint.name, [])
            problems[endpoint.index] = texts
        return problems

    def _seen(self) -> Seen:
        helpers = {}
        if self._gobgp.intended:
            helpers["gobgpd"] = self._gobgp.problem is None
        if self._frr.intended:
            helpers["frr"] = self._frr.problem is None
        last = self._reporter.last
        if last is not None and last.ipsec is not None:
            helpers["charon"] = not last.ipsec.problem
        endpoints = {bridge_name(lan): lan.name for lan in (self._desired.endpoints if self._desired else ())}
        return Seen(self._connected, last, self._leases.held(), helpers, endpoints)
