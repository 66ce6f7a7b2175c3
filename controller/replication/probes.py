"""Probes on demand: hands what agents are asked to the replicas that they are connected to, and collects the results.

Requests and results are in memory alone, and go between replicas as messages: a message that is lost is a result that
does not come, and the operator asks again."""

import asyncio
import logging
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from pydantic import ValidationError

from controller.agents.registry import Agents
from controller.core.refusals import conflict
from controller.replication.replicas import ROOM, Replicas
from controller.wire.model import Message
from controller.wire.probes import ProbeReport, ProbeRequest, ProbeResult

log = logging.getLogger(__name__)

ASKED, TOLD, BUSY = "probes-asked", "probes-told", "probes-busy"

LONGEST = ROOM - 200
"""Most bytes of a word's part, which leaves room for the number, the count of parts and the message's own fields."""

M = TypeVar("M", bound=Message)
T = TypeVar("T")

Key = tuple[str, str, str]
"""The near endpoint, the far one, and the address."""


class Probes:
    """One verification of the region runs at a time: a replica tells the others for how long it is busy."""

    def __init__(self, agents: Agents, replicas: Replicas) -> None:
        self._agents, self._replicas = agents, replicas
        self._number: int | None = None
        self._results: dict[Key, ProbeResult] = {}
        self._missing: set[Key] = set()
        self._all = asyncio.Event()
        self._elsewhere = float("-inf")
        self._parts: dict[str, list[ProbeRequest]] = {}
        replicas.hear[ASKED] = self._hear_asked
        replicas.hear[TOLD] = self._hear_told
        replicas.hear[BUSY] = self._hear_busy

    async def run(self, number: int, requests: Sequence[ProbeRequest], seconds: float) -> dict[Key, ProbeResult]:
        """Have all probes sent, and return the results that came in time. Raises Refused while another verification
        runs."""
        if self._number is not None or time.monotonic() < self._elsewhere:
            raise conflict("another verification is under way; wait for its end")
        self._number, self._results, self._all = number, {}, asyncio.Event()
        self._missing = {(t.endpoint, t.remote, t.address) for one in requests for t in one.targets}
        self._replicas.tell(BUSY, [f"{seconds:.0f}"])
        try:
            for request in requests:
                self._ask(request)
            if self._missing:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._all.wait()
            return self._results
        finally:
            self._number = None
            self._replicas.tell(BUSY, ["0"])
            for request in requests:
                self._agents.ask(request.cloudlet, None)

    def take(self, report: ProbeReport) -> None:
        """Take the results of an agent that is connected here."""
        if report.number == self._number:
            self._collect(report)
        else:
            self._replicas.tell(TOLD, _reports(report))

    def _ask(self, request: ProbeRequest) -> None:
        there = self._agents.elsewhere.get(request.cloudlet)
        if self._agents.of(request.cloudlet).connected or there is None or there.replica is None:
            self._agents.ask(request.cloudlet, request)
        else:
            self._replicas.tell(ASKED, _requests(request))

    def _collect(self, report: ProbeReport) -> None:
        for result in report.results:
            key = result.endpoint, result.remote, result.address
            if key in self._missing:
                self._missing.discard(key)
                self._results[key] = result
        if not self._missing:
            self._all.set()

    def _hear_asked(self, who: str, words: list[str]) -> None:
        for word in words:
            number, of, text = word.split(":")
            part = _read(ProbeRequest, text)
            if part is None:
                continue
            parts = self._parts.setdefault(f"{part.cloudlet}/{number}", [])
            parts.append(part)
            if len(parts) == int(of):
                targets = [target for one in self._parts.pop(f"{part.cloudlet}/{number}") for target in one.targets]
                if self._agents.of(part.cloudlet).connected:
                    self._agents.ask(part.cloudlet, part.model_copy(update={"targets": targets}))
        self._parts = dict(list(self._parts.items())[-1000:])

    def _hear_busy(self, who: str, words: list[str]) -> None:
        self._elsewhere = time.monotonic() + float(words[0])

    def _hear_told(self, who: str, words: list[str]) -> None:
        for word in words:
            report = _read(ProbeReport, word)
            if report is not None and report.number == self._number:
                self._collect(report)


def _requests(request: ProbeRequest) -> Iterator[str]:
    """Yield the words of a request: `NUMBER:PARTS:PART`, because a message is small."""
    parts = _fitting(request.targets, lambda some: _word(request.model_copy(update={"targets": some})))
    for part in parts:
        yield f"{request.number}:{len(parts)}:{part}"


def _reports(report: ProbeReport) -> list[str]:
    return _fitting(report.results, lambda some: _word(report.model_copy(update={"results": some})))


def _fitting(items: list[T], word: Callable[[list[T]], str]) -> list[str]:
    """Return the words of all items, as few as halving gives."""
    text, middle = word(items), len(items) // 2
    if len(text) <= LONGEST or not middle:
        return [text] if items else []
    return [*_fitting(items[:middle], word), *_fitting(items[middle:], word)]


def _word(message: Message) -> str:
    return urlsafe_b64encode(message.model_dump_json(exclude_defaults=True).encode()).decode()


def _read(kind: type[M], word: str) -> M | None:
    try:
        return kind.model_validate_json(urlsafe_b64decode(word))
    except (ValidationError, ValueError) as error:
        log.warning("probes of another replica cannot be read: %s", error)
        return None
