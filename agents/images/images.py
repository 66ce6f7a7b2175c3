"""The loop that keeps a cloudlet's images as the policy wants them, one fetch at a time."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agents.controller.client import ControllerAway, ControllerRefused
from agents.images import layouts
from agents.images.fetch import Outcome, Progress, Store, command, fetch, limit
from agents.images.fetched import Fetched
from agents.images.plan import Plan, plan, states
from agents.images.reporter import Reporter, Reports
from agents.images.server import Server
from agents.images.tries import Tries
from controller.wire.images import ImageReport, ImageSource, ImageSources, WantedImage, WantedImages

log = logging.getLogger(__name__)

LOOK = 30.0
"""Seconds between two looks at the folder of images."""

TURN = 600.0
"""Seconds after which a fetch asks anew for sources, and continues."""

LIMITS = 60.0
"""Seconds between two looks at the policy's limits while a fetch runs: hours begin and end, and policies change."""


class Controller(Reports, Protocol):
    """The part of the controller that this module needs."""

    async def image_sources(self, name: str) -> ImageSources:
        """Ask the controller where an image can be fetched. Raises ControllerAway or ControllerRefused."""


class Images:
    """One cloudlet's images. `used` returns the images that machines here need; None if that is not known. Nothing is
    removed before the first document of wanted images. `restarted` is called when the server has ended by itself."""

    def __init__(
        self,
        cloudlet: str,
        controller: Controller,
        state: Path,
        store: Store,
        port: int,
        used: Callable[[], Collection[str] | None],
        restarted: Callable[[str], None] = lambda _program: None,
    ) -> None:
        self._cloudlet, self._controller, self._store, self._used = cloudlet, controller, store, used
        self._fetched, self._tries, self._server = Fetched(state), Tries(), Server(store, port, restarted)
        self._reporter = Reporter(controller, self._report)
        self._wanted: WantedImages | None = None
        self._vtep: str | None = None
        self._stored: dict[str, str | None] = {}
        self._news = asyncio.Event()

    def intend(self, wanted: WantedImages) -> None:
        """Take the images that belong here. Those that could not come are tried again at once."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._tries.again()
            self._news.set()

    def serve(self, vtep: str) -> None:
        """Serve other cloudlets at this address, as long as there is something to serve."""
        if vtep != self._vtep:
            self._vtep = vtep
            self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._server.run())
            group.create_task(self._reporter.run())
            group.create_task(self._keep())

    async def _keep(self) -> None:
        while True:
            self._news.clear()
            decided = await self._look()
            if (image := self._tries.ready(decided.fetch)) is not None:
                await self._bring(image, replace=image.name in decided.replaced)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._tries.pause(LOOK)):
                    await self._news.wait()

    async def _look(self) -> Plan:
        """Look at the folder, remove the images that are to go, and return the plan."""
        try:
            self._stored = await asyncio.to_thread(layouts.stored, self._store.directory)
        except OSError as error:
            log.error("%s cannot be read: %s", self._store.directory, error.strerror)
            return Plan()
        decided = Plan()
        if self._wanted is not None:
            # Only what the agent has fetched is ever removed or replaced. Drivers read the records of all machines.
            used = await asyncio.to_thread(self._used) if self._fetched.images else None
            decided = plan(self._wanted.images, self._stored, self._fetched.images, used)
            self._tries.keep(self._wanted.images, decided.refused)
            await self._remove(decided)
        self._server.intend(self._vtep if any(self._stored.values()) else None)
        self._reporter.wake()
        return decided

    async def _remove(self, decided: Plan) -> None:
        for name in decided.remove:
            try:
                await asyncio.to_thread(layouts.remove, self._store.directory, name)
            except OSError as error:
                log.error("image %s cannot be removed: %s", name, error.strerror)
                continue
            log.info("image %s does not belong here any more, and is removed", name)
            self._fetched.forget(name)
            self._stored.pop(name, None)
        coming = frozenset(image.name for image in decided.fetch)
        await asyncio.to_thread(layouts.tidy, self._store.directory, coming)

    async def _bring(self, image: WantedImage, *, replace: bool) -> None:
        """Fetch an image, and note the result. A document that does not want it any more ends the fetch."""
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._fetch(image, replace=replace))
            watch = group.create_task(self._unwanted(image))
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            work.cancel()  # has no effect on one that has ended
            watch.cancel()
        if not work.cancelled():
            outcome = work.result()
            self._tries.take(image, outcome)
            if outcome.there:
                self._fetched.note(image.name, image.digest)
            self._reporter.wake()

    async def _unwanted(self, image: WantedImage) -> None:
        while self._wanted is not None and image in self._wanted.images:
            await self._news.wait()
            self._news.clear()

    async def _fetch(self, image: WantedImage, *, replace: bool) -> Outcome:
        try:
            found = await self._controller.image_sources(image.name)
        except (ControllerAway, ControllerRefused) as error:
            return Outcome(False, f"the controller does not say where it can be fetched: {error}")
        if found.digest != image.digest:
            return Outcome(False, "the policy has just changed")
        if not (sources := self._store.usable(found.sources)):
            return Outcome(False, "no cloudlet serves it, and the policy names no registry")
        left = None
        if self._store.most is not None:
            left = self._store.most - await asyncio.to_thread(layouts.size, self._store.directory)
        argv = command(self._store, image, sources, left, replace=replace)
        self._tries.hear(image)
        self._reporter.wake()

        def heard(progress: Progress) -> None:
            self._tries.hear(image, progress)
            self._reporter.wake()

        work = asyncio.create_task(fetch(argv, TURN, heard))
        watch = asyncio.create_task(self._other_limit(image, sources))
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait((work,))
        return Outcome(False) if work.cancelled() else work.result()

    async def _other_limit(self, image: WantedImage, sources: Sequence[ImageSource]) -> None:
        """Return when the policy limits a fetch from these sources otherwise than it did."""
        while True:
            await asyncio.sleep(LIMITS)
            with suppress(ControllerAway, ControllerRefused):
                found = await self._controller.image_sources(image.name)
                if limit(self._store.usable(found.sources)) != limit(sources):
                    return

    def _report(self) -> ImageReport:
        wanted = self._wanted.images if self._wanted is not None else []
        found = states(wanted, self._stored, self._tries.states)
        return ImageReport(cloudlet=self._cloudlet, images=found, port=self._server.port)
