"""Makes the rounds: several echoes to each candidate in its turn, by the first method that gets an answer."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import random
from typing import Protocol

from agents.neighbours.icmp import Icmp
from agents.neighbours.samples import Round, summary
from agents.neighbours.schedule import Ring
from agents.neighbours.stamp import Reflector, Stamp
from agents.neighbours.tcp import Tcp
from controller.wire.neighbours import Candidates, Method

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds after which an echo counts as lost."""

SPACING = 0.2
"""Seconds between two echoes of a round, more or less; fewer where the interval is short."""

MOST_PER_SECOND = 200
"""Echoes a second to all candidates together. If there are more candidates than that allows (2,400 at five a minute),
each has its turn less often."""

MOST_ROUNDS = 400
"""Most rounds that are under way at the same time."""

AGAIN = 10
"""Every so many rounds the prober tries the first method again, if another one is in use."""

RETRY = 5.0
"""Seconds between two attempts to get the sockets: the VTEP's address may not be there yet."""


class Echo(Protocol):
    """A method of probing."""

    method: Method

    def close(self) -> None:
        """Release its resources."""

    async def round_trip(self, address: str, seconds: float) -> float | None:
        """Return the round trip in milliseconds, or None if no answer came in time."""


Found = Callable[[str, Round, bool], None]
"""Gets the candidate of a round, the result, and whether it was the first round after the announcement."""


class Prober:
    """`intend` sets the candidates to probe; `run` works until it is cancelled."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._ring = Ring()
        self._candidates: Candidates | None = None
        self._addresses: dict[str, str] = {}
        self._known: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._methods: dict[str, tuple[Method, int]] = {}
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._slot = 0.0
        self._said = ""

    def intend(self, candidates: Candidates) -> None:
        """Probe these candidates from now on."""
        self._candidates = candidates
        self._addresses = {c.cloudlet: c.vtep for c in candidates.candidates}
        self._known = frozenset(self._addresses.values())
        self._methods = {name: used for name, used in self._methods.items() if name in self._addresses}
        interval = max(candidates.probe_seconds, 0.1)
        self._ring.update(self._addresses, interval, asyncio.get_running_loop().time())
        self._changed.set()

    async def run(self) -> None:
        """Probe until it is cancelled."""
        while True:
            while self._candidates is None or not self._candidates.candidates:
                self._changed.clear()
                await self._changed.wait()
            vtep = self._candidates.vtep
            echoes: list[Echo] = []
            reflector: Reflector | None = None
            try:
                for kind in (Icmp, Stamp, Tcp):
                    echoes.append(kind(vtep))
                reflector = self._reflector(vtep)
                await self._probe(vtep, echoes)
            except OSError as error:
                self._say(f"neighbours cannot be probed from {vtep}: {error.strerror or error}")
                await asyncio.sleep(RETRY)
            finally:
                for task in self._under_way.values():
                    task.cancel()
                await asyncio.gather(*self._under_way.values(), return_exceptions=True)
                for echo in (*echoes, *((reflector,) if reflector else ())):
                    echo.close()

    def _reflector(self, vtep: str) -> Reflector | None:
        try:
            return Reflector(vtep, lambda: self._known)
        except OSError as error:
            self._say(f"neighbours whose ICMP is filtered get no answer by UDP here: {error.strerror or error}")
            return None

    def _say(self, text: str) -> None:
        if text != self._said:
            log.warning("%s", text)
        self._said = text

    async def _probe(self, vtep: str, echoes: Sequence[Echo]) -> None:
        """Probe until this cloudlet's VTEP changes."""
        loop = asyncio.get_running_loop()
        while (candidates := self._candidates) is not None and candidates.vtep == vtep:
            self._changed.clear()
            due = self._ring.next()
            wait = None if due is None else due - loop.time()
            if wait is None or wait > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._changed.wait()
                continue
            name, first = self._ring.pop(loop.time())
            if name in self._under_way or len(self._under_way) >= MOST_ROUNDS:
                continue
            task = loop.create_task(self._go(name, first, echoes, candidates))
            self._under_way[name] = task
            task.add_done_callback(partial(self._ended, name))

    def _ended(self, name: str, task: "asyncio.Task[None]") -> None:
        del self._under_way[name]
        if not task.cancelled() and (error := task.exception()):
            log.error("round of %s: %r", name, error, exc_info=error)

    async def _go(self, name: str, first: bool, echoes: Sequence[Echo], candidates: Candidates) -> None:
        address, nothing = self._addresses[name], None
        for echo in self._order(name, echoes):
            samples = await self._round(echo, address, candidates)
            found = summary(echo.method, samples)
            if found.received:
                count = self._methods.get(name, (echo.method, 0))[1] + 1
                self._methods[name] = echo.method, count
                self._found(name, found, first)
                return
            nothing = nothing or found
        self._methods.pop(name, None)
        if nothing is not None:
            self._found(name, nothing, first)

    def _order(self, name: str, echoes: Sequence[Echo]) -> list[Echo]:
        """Return the methods in the order in which to try them: the one that was answered the last time first, except
        in every tenth round (AGAIN)."""
        used, rounds = self._methods.get(name, (None, 0))
        if rounds % AGAIN == AGAIN - 1:
            return list(echoes)
        return sorted(echoes, key=lambda echo: echo.method != used)

    async def _round(self, echo: Echo, address: str, candidates: Candidates) -> list[float | None]:
        spacing = min(SPACING, candidates.probe_seconds / (4 * candidates.echoes))
        tasks = []
        try:
            for number in range(candidates.echoes):
                if number:
                    await asyncio.sleep(spacing * (0.75 + 0.5 * random()))
                await self._turn()
                tasks.append(asyncio.ensure_future(echo.round_trip(address, PATIENCE)))
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def _turn(self) -> None:
        """Wait so long that the rate of all echoes together is kept."""
        now = asyncio.get_running_loop().time()
        self._slot = max(self._slot + 1 / MOST_PER_SECOND, now)
        if self._slot > now:
            await asyncio.sleep(self._slot - now)
