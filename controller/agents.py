"""The agents as this controller knows them now: whose stream is open, what each reported last, and who waits for a
report that confirms a change. In memory: a controller that restarts hears it all again."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from controller.bell import Bell
from controller.core.desired import Tunnels, agrees
from controller.db.base import now
from controller.wire.reports import Report

SILENCE = 75.0
"""Seconds without a report after which an open stream counts for nothing: agents report every 30 s."""


@dataclass
class Attendance:
    """One cloudlet's agent. `expected` are the tunnels of each generation that was published and not yet reported,
    `proved` is the latest generation that a report showed to be in the kernel."""

    bell: Bell = field(default_factory=Bell)
    opened: float = 0.0
    heard: float = 0.0
    last_seen: datetime | None = None
    report: Report | None = None
    expected: dict[int, Tunnels] = field(default_factory=dict)
    proved: int = 0
    waiting: dict[asyncio.Future[float], int] = field(default_factory=dict)

    @property
    def connected(self) -> bool:
        """Whether a stream is open and was not silent for too long."""
        return len(self.bell) > 0 and time.monotonic() - max(self.opened, self.heard) < SILENCE


class Agents:
    """The agents of all cloudlets."""

    def __init__(self) -> None:
        self._known: dict[str, Attendance] = {}
        self._seen: dict[str, tuple[datetime, str | None]] = {}

    def of(self, cloudlet: str) -> Attendance:
        """What is known of one cloudlet's agent."""
        return self._known.setdefault(cloudlet, Attendance())

    @property
    def connected(self) -> int:
        """How many agents have a stream open."""
        return sum(agent.connected for agent in self._known.values())

    @contextmanager
    def attend(self, cloudlet: str) -> Iterator[asyncio.Event]:
        """Counts a stream as open; its event is set whenever there may be a new desired state to send."""
        agent = self.of(cloudlet)
        with agent.bell.listen() as wake:
            agent.opened = time.monotonic()
            self._see(cloudlet, None)
            try:
                yield wake
            finally:
                self._see(cloudlet, None)

    def publish(self, cloudlet: str, version: int, expected: Tunnels) -> None:
        """Wakes the cloudlet's streams and remembers what a report on this version has to show."""
        agent = self.of(cloudlet)
        if not agent.connected:
            agent.expected.clear()
        agent.expected[version] = expected
        agent.bell.ring()

    def forget(self, cloudlet: str) -> None:
        """The cloudlet is gone: its streams wake to find that out."""
        if agent := self._known.pop(cloudlet, None):
            agent.bell.ring()
        self._seen.pop(cloudlet, None)

    def report(self, report: Report) -> list[str] | None:
        """Takes a report and confirms the changes that it proves. Returns the agent's problems if they are other than
        those of the report before, else None."""
        agent = self.of(report.cloudlet)
        before, agent.report, agent.heard = agent.report, report, time.monotonic()
        self._see(report.cloudlet, report.agent_version)
        expected = agent.expected.get(report.generation)
        if expected is not None:
            for version in [v for v in agent.expected if v < report.generation]:
                del agent.expected[version]
            if agrees(report, expected):
                agent.proved = report.generation
                for future, version in list(agent.waiting.items()):
                    if version <= report.generation and not future.done():
                        future.set_result(agent.heard)
        problems, had = _problems(report), _problems(before) if before else []
        return problems if problems != had else None

    async def confirmed(self, cloudlet: str, version: int) -> float:
        """Waits for a report that shows `version`, or a later one, in the kernel; gives its time (monotonic)."""
        agent = self.of(cloudlet)
        if agent.proved >= version:
            return agent.heard
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        agent.waiting[future] = version
        try:
            return await future
        finally:
            del agent.waiting[future]

    def take_seen(self) -> dict[str, tuple[datetime, str | None]]:
        """Who was heard of since the last call, when, and with which version."""
        seen, self._seen = self._seen, {}
        return seen

    def _see(self, cloudlet: str, version: str | None) -> None:
        moment = now()
        self.of(cloudlet).last_seen = moment
        self._seen[cloudlet] = (moment, version or self._seen.get(cloudlet, (moment, None))[1])


def _problems(report: Report) -> list[str]:
    return sorted(f"{state.endpoint}: {problem}" for state in report.endpoints for problem in state.problems)
