"""Sends the probes that the controller asks for, on demand, within a budget, and reports what comes of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from agents.controller.client import ControllerAway, ControllerRefused
from agents.dhcp.dual_stack import Version
from agents.passages.questions import Questions
from agents.passages.targets import ProbingLan, probing_lans
from controller.wire.desired import GATEWAYS, Desired
from controller.wire.probes import (
    MOST_RESULTS,
    PER_SECOND,
    SMALLEST,
    ProbeReport,
    ProbeRequest,
    ProbeResult,
    ProbeTarget,
)

log = logging.getLogger(__name__)

TRIES = 3
"""So many questions without an answer mean that there is none."""

AT_ONCE = 64
"""Most targets of one LAN that are asked at the same time."""

BATCH = 1.0
"""Seconds in which results are collected for one report."""

SMALL = 84
"""Bytes of the echo that measures the round trip, as long as ping's."""

STEPS = 6
"""So many sizes are tried at most, below one that does not pass."""


class Reports(Protocol):
    """The part of the controller that this module needs."""

    async def probes(self, report: ProbeReport) -> None:
        """Send a report to the controller. Raises ControllerAway or ControllerRefused."""


class Asking(Protocol):
    """The questions of one LAN (questions.py)."""

    def close(self) -> None: ...
    async def resolve(self, address: str) -> tuple[float, str] | None: ...
    async def echo(self, address: str, mac: str, size: int) -> float | None: ...


Ask = Callable[[ProbingLan, Callable[[], Awaitable[None]]], Asking]


class Budget:
    """Lets so many questions a second pass."""

    def __init__(self, per_second: float) -> None:
        self._pause, self._next = 1 / per_second, 0.0

    async def turn(self) -> None:
        """Wait for the turn of the next question."""
        now = asyncio.get_running_loop().time()
        self._next = max(self._next + self._pause, now)
        if self._next > now:
            await asyncio.sleep(self._next - now)


class Verifier:
    """One cloudlet's part in verifications. One runs at a time: a newer request ends the one before. `ask` opens the
    questions of a LAN."""

    def __init__(self, cloudlet: str, controller: Reports, ask: Ask = Questions) -> None:
        self._cloudlet, self._controller, self._ask = cloudlet, controller, ask
        self._lans: Mapping[tuple[str, Version], ProbingLan] = {}
        self._mtus: Mapping[str, int] = {}
        self._request: ProbeRequest | None = None
        self._news = asyncio.Event()
        self._all = Budget(4 * PER_SECOND)

    def know(self, desired: Desired) -> None:
        """Take the LANs of the desired state."""
        self._lans = {(lan.endpoint, lan.version): lan for lan in probing_lans(desired)}
        self._mtus = {endpoint.name: endpoint.mtu for endpoint in desired.endpoints}

    def intend(self, request: ProbeRequest) -> None:
        """Send these probes now."""
        if self._request is None or request.number != self._request.number:
            self._request = request
            self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        working: asyncio.Task[None] | None = None
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                if working is not None:
                    working.cancel()
                    await asyncio.gather(working, return_exceptions=True)
                assert self._request is not None  # set before _news
                working = asyncio.create_task(self._verify(self._request))
        finally:
            if working is not None:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)

    async def _verify(self, request: ProbeRequest) -> None:
        """Send all probes of a request, and report the results. Never raises: the agent has other work to do too."""
        try:
            results: asyncio.Queue[ProbeResult | None] = asyncio.Queue()
            lans: dict[tuple[str, Version], list[ProbeTarget]] = {}
            for target in request.targets:
                lans.setdefault((target.endpoint, 6 if ":" in target.address else 4), []).append(target)
            async with asyncio.TaskGroup() as group:
                reporting = group.create_task(self._report(request.number, results))
                async with asyncio.TaskGroup() as asking:
                    for key, targets in lans.items():
                        asking.create_task(self._lan(self._lans.get(key), targets, results))
                results.put_nowait(None)
                await reporting
        except Exception:
            log.exception("verification %d", request.number)

    async def _lan(
        self, lan: ProbingLan | None, targets: Iterable[ProbeTarget], results: "asyncio.Queue[ProbeResult | None]"
    ) -> None:
        """Ask all targets of one LAN in one family."""
        if lan is None:
            for target in targets:
                results.put_nowait(_failed(target, "this agent has no such LAN in that family"))
            return
        own, at_once, mtu = Budget(PER_SECOND), asyncio.Semaphore(AT_ONCE), self._mtus[lan.endpoint]

        async def turn() -> None:
            await own.turn()
            await self._all.turn()

        try:
            questions = self._ask(lan, turn)
        except OSError as error:
            for target in targets:
                results.put_nowait(_failed(target, f"{lan.bridge} cannot be used: {error.strerror or error}"))
            return

        async def one(target: ProbeTarget) -> None:
            async with at_once:
                try:
                    results.put_nowait(await probe(questions, target, mtu))
                except OSError as error:
                    results.put_nowait(_failed(target, f"{lan.bridge} cannot be used: {error.strerror or error}"))

        try:
            async with asyncio.TaskGroup() as group:
                for target in targets:
                    group.create_task(one(target))
        finally:
            questions.close()

    async def _report(self, number: int, results: "asyncio.Queue[ProbeResult | None]") -> None:
        """Report results in batches until the last one. A result that the controller does not take now is lost: the
        operator who asked is told that it did not come."""
        over = False
        while not over:
            batch = [await results.get()]
            await asyncio.sleep(0 if batch[0] is None else BATCH)
            while not results.empty() and len(batch) < MOST_RESULTS:
                batch.append(results.get_nowait())
            over = None in batch
            found = [one for one in batch if one is not None]
            if not found:
                continue
            try:
                await self._controller.probes(ProbeReport(cloudlet=self._cloudlet, number=number, results=found))
            except (ControllerAway, ControllerRefused) as error:
                log.info("results of probes are not taken: %s", error)


async def probe(questions: Asking, target: ProbeTarget, lan_mtu: int) -> ProbeResult:
    """Ask one target from a LAN with that MTU. Of a target that must not answer only a gateway's answer counts, because
    a device may claim any address. Raises OSError."""
    result = ProbeResult(endpoint=target.endpoint, remote=target.remote, address=target.address)
    found = None
    for _ in range(TRIES):
        found = await questions.resolve(target.address)
        if found is not None and (target.mtu is not None or found[1].startswith(GATEWAYS)):
            break
        found = None
    if found is None:
        return result
    took, mac = found
    result = result.model_copy(update={"resolved_ms": round(took, 3)})
    if target.mtu is None or (back := await _echo(questions, target, mac, SMALL)) is None:
        return result
    tried = max(SMALLEST, min(target.mtu, lan_mtu))
    mtu = await _largest(questions, target, mac, tried)
    return result.model_copy(update={"echo_ms": round(back, 3), "tried": tried, "mtu": mtu})


async def _largest(questions: Asking, target: ProbeTarget, mac: str, most: int) -> int | None:
    """Return the largest packet that passes, up to `most`, as far as STEPS halvings tell; None if even the smallest one
    does not."""
    if await _echo(questions, target, mac, most) is not None:
        return most
    if await _echo(questions, target, mac, SMALLEST) is None:
        return None
    low, high = SMALLEST, most
    for _ in range(STEPS):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        if await _echo(questions, target, mac, middle, tries=1) is not None:
            low = middle
        else:
            high = middle
    return low


async def _echo(questions: Asking, target: ProbeTarget, mac: str, size: int, tries: int = TRIES) -> float | None:
    for _ in range(tries):
        if (back := await questions.echo(target.address, mac, size)) is not None:
            return back
    return None


def _failed(target: ProbeTarget, problem: str) -> ProbeResult:
    return ProbeResult(endpoint=target.endpoint, remote=target.remote, address=target.address, problem=problem[:300])
