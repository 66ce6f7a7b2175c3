"""The agent's part in access rules: their document, their nft text and their counters."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol, cast, get_args

from pydantic import ValidationError

from agents.access.rules import OVER, TABLE, Filtering, Objects, counter, objects, ruleset, sweep
from agents.access.specification import Specification, read
from agents.backoff import Backoff
from agents.controller.client import ControllerAway, ControllerRefused
from agents.fence import OTHER_VNI, OUTSIDE
from agents.fence.budgets import TABLE as BUDGETS
from agents.fence.rules import TABLE as FENCES
from agents.kernel.lan import bridge_name, tunnel_pattern
from agents.nft import Nft, NftError
from agents.sources.rules import TABLE as SOURCES
from agents.storage.state import StateDirectory, StateError
from controller.wire.access import Access as Document
from controller.wire.access import AccessReport, Counted, Dropped, Impostor
from controller.wire.desired import Desired

log = logging.getLogger(__name__)

FILE = "access.json"
INTERVAL = 10.0
"""Seconds between two looks at the kernel's counters."""

_UNDERLAY: Mapping[str, Impostor] = {OUTSIDE: "vxlan", OTHER_VNI: "vni"}

Lans = Mapping[str, tuple[Specification, ...]]


class Reports(Protocol):
    """The part of the controller that this module needs."""

    async def access(self, report: AccessReport) -> None:
        """Send a report to the controller. Raises ControllerAway or ControllerRefused."""


class Access:
    """The access rules of one cloudlet. `text` is for the reconciler, which loads it together with the fences, and so
    before any tunnel exists. `run()` keeps the document and reports. Before there is a document, the kernel's rules
    stay as they are, also when the agent cannot read its file."""

    def __init__(self, cloudlet: str, state: StateDirectory, controller: Reports) -> None:
        self._cloudlet, self._state, self._controller = cloudlet, state, controller
        self._nft = Nft()
        self._document = _kept(state)
        self._before: Lans = {}
        self._lans: Lans = {}
        self.problems: dict[str, list[str]] = {}
        self._known: Objects | None = None  # our objects in the kernel; None: not known
        self._filtered: dict[str, tuple[str, Specification]] = {}
        self._endpoints: dict[str, str] = {}  # by bridge
        self._saved = self._document
        self._news = asyncio.Event()
        if self._document is not None:
            self._lans = self._read(self._document)

    def intend(self, document: Document) -> None:
        """Filter by this document from now on. `Access` in controller/wire/access.py says which older filters go on for
        a while."""
        if document == self._document:
            return
        self._before, self._document = self._lans, document
        self._lans = self._read(document)
        self._news.set()

    def text(self, desired: Desired) -> str:
        """Return the rules as nft text."""
        return ruleset(self._filterings(desired)) if self._document is not None else ""

    async def first(self, desired: Desired) -> str:
        """Return the nft text that has to come before that of `text`. Raises NftError."""
        if self._document is None:
            return ""
        if self._known is None:
            names = await self._nft.names(TABLE)
            self._known = Objects(*(names.get(kind, frozenset()) for kind in ("chain", "counter", "limit")))
        return sweep(self._known - objects(self._filterings(desired)))

    def applied(self, desired: Desired | None) -> None:
        """Note that the kernel has the text of this desired state, or with None that its rules are not known."""
        self._endpoints = {bridge_name(e): e.name for e in desired.endpoints} if desired is not None else {}
        if self._document is None or desired is None:
            self._known = None
            return
        lans = self._filterings(desired)
        self._known = objects(lans)
        self._filtered = {counter(f.bridge, s): (self._endpoints[f.bridge], s) for f in lans for s in f.specifications}
        self._news.set()

    async def run(self) -> None:
        """Save the document for a start without the controller, and report the counters to the controller, until it is
        cancelled."""
        backoff, told = Backoff(), None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL):
                    await self._news.wait()
            self._news.clear()
            await self._keep()
            try:
                report = await self._report()
                if report not in (None, told):
                    await self._controller.access(report)
            except ControllerAway as away:
                log.debug("what access rules have counted is told later: %s", away)
                told = None
                await asyncio.sleep(backoff.delay())
                self._news.set()
            except (ControllerRefused, NftError, OSError) as error:
                log.debug("what access rules have counted is not told: %s", error)
            else:
                told = report
                backoff.reset()

    async def _keep(self) -> None:
        document = self._document
        if document is None or document is self._saved:
            return
        try:
            await asyncio.to_thread(self._state.write, FILE, document.model_dump_json())
        except StateError as error:
            log.error("access rules are not kept for a restart: %s", error)
        else:
            self._saved = document

    async def _report(self) -> AccessReport | None:
        """Return the kernel's filters and their counters, or None before there is anything to report."""
        filtered = dict(self._filtered) if self._known is not None else {}
        dropped = await self._impostors()
        if (self._document is None or self._known is None) and not dropped:
            return None
        counted = {f"{c.bridge}.{c.reason}": c for c in await self._nft.counters(TABLE)} if filtered else {}
        filters = []
        for name, (endpoint, specification) in sorted(filtered.items()):
            if (found := counted.get(name)) is None:
                continue
            over = counted.get(name + OVER)
            filters.append(
                Counted(
                    endpoint=endpoint,
                    family=specification.filter.family,
                    nlri=specification.filter.nlri,
                    packets=found.packets,
                    bytes=found.bytes,
                    dropped=found.packets if specification.rate == 0 else over.packets if over else 0,
                )
            )
        return AccessReport(cloudlet=self._cloudlet, filters=filters, dropped=dropped)

    async def _impostors(self) -> list[Dropped]:
        """Return the forged frames from access ports and from the underlay that the fences, the budgets and the source
        guard have dropped."""
        found = []
        for one in await self._nft.counters(FENCES, BUDGETS, SOURCES) if self._endpoints else []:
            reason = one.reason.removesuffix("-at")
            endpoint = self._endpoints.get(one.bridge)
            if not one.packets:
                continue
            if (underlay := _UNDERLAY.get(f"{one.bridge}.{one.reason}")) is not None:
                found.append(Dropped(what=underlay, packets=one.packets))
            elif endpoint is not None and reason in get_args(Impostor):
                found.append(Dropped(endpoint=endpoint, what=cast(Impostor, reason), packets=one.packets))
        return found

    def _filterings(self, desired: Desired) -> list[Filtering]:
        if self._document is not None and desired.version >= self._document.version:
            self._before = {}
        return [
            Filtering(bridge_name(e), tunnel_pattern(e), self._lans.get(e.name, ()) + self._before.get(e.name, ()))
            for e in desired.endpoints
        ]

    def _read(self, document: Document) -> Lans:
        lans: dict[str, tuple[Specification, ...]] = {}
        self.problems = {}
        for lan in document.lans:
            specifications = []
            for one in lan.filters:
                try:
                    specifications.append(read(one))
                except ValueError as error:
                    self.problems.setdefault(lan.endpoint, []).append(f"access rules: {error}")
            lans[lan.endpoint] = tuple(specifications)
        return lans


def _kept(state: StateDirectory) -> Document | None:
    try:
        text = state.read(FILE)
        return Document.model_validate_json(text) if text is not None else None
    except (StateError, ValidationError) as error:
        log.error("%s: access rules stay as they are in the kernel until the controller is heard: %s", FILE, error)
        return None
