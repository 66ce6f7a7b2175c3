"""The agents as this controller knows them: whose stream is open, the last report of each, and the waits for a report
that confirms a change. All of it is in memory: after a restart, the agents report it again. Of agents that are
connected to other replicas it knows where they are and which generation they have proved
(`controller.replication.agent_presence`)."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from controller.core.clock import now
from controller.core.desired import Tunnels, agrees
from controller.core.names import printable
from controller.db.agent_presence import Seen
from controller.runtime.wakeup import Wakeup
from controller.wire.probes import ProbeRequest
from controller.wire.reports import Report

PROBING = 300.0
"""Seconds after which an agent is no longer asked for probes."""

SILENCE = 75.0
"""Seconds without a report after which an open stream no longer counts as connected: agents report every 30 s."""


@dataclass
class Attendance:
    """One cloudlet's agent. `expected` are the tunnels of each generation that was published and not yet reported.
    `proved` is the latest generation that a report showed to be in the kernel. `announced` counts how often its
    candidates may have changed, and `ordered` how often its orders may have. `asked` are the probes that it is asked
    for, and since when."""

    wakeup: Wakeup = field(default_factory=Wakeup)
    opened: float = 0.0
    heard: float = 0.0
    last_seen: datetime | None = None
    report: Report | None = None
    expected: dict[int, Tunnels] = field(default_factory=dict)
    proved: int = 0
    announced: int = 0
    ordered: int = 0
    asked: tuple[ProbeRequest, float] | None = None
    waiting: dict[asyncio.Future[float], int] = field(default_factory=dict)

    @property
    def connected(self) -> bool:
        """Whether a stream is open and was not silent for too long."""
        return len(self.wakeup) > 0 and time.monotonic() - max(self.opened, self.heard) < SILENCE

    @property
    def probes(self) -> ProbeRequest | None:
        """The probes that it is asked for now."""
        return self.asked[0] if self.asked is not None and time.monotonic() - self.asked[1] < PROBING else None


@dataclass(frozen=True)
class Elsewhere:
    """An agent as another replica knows it; `replica` is None if it is connected to none."""

    replica: str | None
    proved: int


class Agents:
    """The agents of all cloudlets. `stir` is set when there is news for other replicas."""

    def __init__(self) -> None:
        self.stir = asyncio.Event()
        self.elsewhere: dict[str, Elsewhere] = {}
        self._news: set[str] = set()
        self._reported: dict[str, Report] = {}
        self._known: dict[str, Attendance] = {}
        self._seen: dict[str, tuple[datetime, str | None]] = {}

    def of(self, cloudlet: str) -> Attendance:
        """Return the record of one cloudlet's agent."""
        return self._known.setdefault(cloudlet, Attendance())

    @property
    def connected(self) -> int:
        """The number of agents that are connected."""
        return sum(agent.connected for agent in self._known.values())

    @contextmanager
    def attend(self, cloudlet: str) -> Iterator[asyncio.Event]:
        """Count a stream as open until the block ends; its event is set whenever there may be something new to send."""
        agent = self.of(cloudlet)
        with agent.wakeup.listen() as wake:
            agent.opened = time.monotonic()
            self._see(cloudlet, None)
            self._tell(cloudlet)
            try:
                yield wake
            finally:
                self._see(cloudlet, None)
        self._tell(cloudlet)

    def publish(self, cloudlet: str, version: int, expected: Tunnels) -> None:
        """Wake the cloudlet's streams, and remember the tunnels that a report on this version has to show."""
        agent = self.of(cloudlet)
        if not agent.connected:
            agent.expected.clear()
        agent.expected[version] = expected
        agent.wakeup.ring()

    def announce(self, cloudlet: str) -> None:
        """Wake the cloudlet's streams because its candidates may have changed."""
        if agent := self._known.get(cloudlet):
            agent.announced += 1
            agent.wakeup.ring()

    def order(self, cloudlet: str) -> None:
        """Wake the cloudlet's streams because its orders may have changed."""
        if agent := self._known.get(cloudlet):
            agent.ordered += 1
            agent.wakeup.ring()

    def ask(self, cloudlet: str, probes: ProbeRequest | None) -> None:
        """Ask the cloudlet's agent for probes, or for none any more."""
        if agent := self._known.get(cloudlet):
            agent.asked = (probes, time.monotonic()) if probes is not None else None
            agent.wakeup.ring()

    def order_all(self) -> None:
        """Call `order` for all agents that are connected here."""
        for name, agent in self._known.items():
            if len(agent.wakeup):
                self.order(name)

    def cut(self, cloudlet: str) -> None:
        """Wake the cloudlet's streams, so that those opened with another credential end."""
        if agent := self._known.get(cloudlet):
            agent.wakeup.ring()

    def wake(self, cloudlet: str) -> None:
        """Wake the cloudlet's streams because its filters or session keys may have changed."""
        self.cut(cloudlet)

    def wake_all(self) -> None:
        """Wake all streams, for news that may concern all of them."""
        for agent in self._known.values():
            agent.wakeup.ring()

    def forget(self, cloudlet: str) -> None:
        """Forget a cloudlet that is gone, and wake its streams so that they end."""
        if agent := self._known.pop(cloudlet, None):
            agent.wakeup.ring()
        self._seen.pop(cloudlet, None)
        self.elsewhere.pop(cloudlet, None)
        self._reported.pop(cloudlet, None)

    def report(self, report: Report) -> list[str] | None:
        """Take in a report and confirm the changes that it proves. Returns the agent's problems if they differ from
        those of the report before, else None."""
        agent = self.of(report.cloudlet)
        before, agent.report, agent.heard = agent.report, report, time.monotonic()
        self._see(report.cloudlet, printable(report.agent_version, 64))
        expected = agent.expected.get(report.generation)
        if expected is not None:
            for version in [v for v in agent.expected if v < report.generation]:
                del agent.expected[version]
            if agrees(report, expected):
                agent.proved = report.generation
                for future, version in list(agent.waiting.items()):
                    if version <= report.generation and not future.done():
                        future.set_result(agent.heard)
        self._tell(report.cloudlet)
        problems, had = _problems(report), _problems(before) if before else []
        return problems if problems != had else None

    async def confirmed(self, cloudlet: str, version: int) -> float:
        """Wait for a report that shows `version`, or a later one, in the kernel; return its time (monotonic)."""
        agent = self.of(cloudlet)
        if agent.proved >= version:
            return agent.heard
        if (other := self.elsewhere.get(cloudlet)) and other.proved >= version:
            return time.monotonic()
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        agent.waiting[future] = version
        try:
            return await future
        finally:
            del agent.waiting[future]

    def learn(self, cloudlet: str, there: Elsewhere) -> None:
        """Take in what another replica knows of an agent."""
        self.elsewhere[cloudlet] = there
        if agent := self._known.get(cloudlet):
            for future, version in list(agent.waiting.items()):
                if version <= there.proved and not future.done():
                    future.set_result(time.monotonic())

    def take_news(self) -> dict[str, Seen]:
        """Return the news for other replicas since the last call."""
        self.stir.clear()
        news, self._news = self._news, set()
        return {name: self._said(name) for name in news if name in self._known}

    def tell_all(self) -> None:
        """Make everything known of agents that are connected here news again."""
        self._reported.clear()
        for name, agent in self._known.items():
            if len(agent.wakeup):
                self._tell(name)

    def tell_again(self, names: Iterable[str]) -> None:
        """Make these agents news again, after other replicas could not be told."""
        for name in names:
            self._reported.pop(name, None)
            self._tell(name)

    def _tell(self, cloudlet: str) -> None:
        self._news.add(cloudlet)
        self.stir.set()

    def _said(self, cloudlet: str) -> Seen:
        agent = self._known[cloudlet]
        report, before = agent.report, self._reported.get(cloudlet)
        if report is None or (before is not None and _same(report, before)):
            return Seen(len(agent.wakeup) > 0, agent.proved, None)
        self._reported[cloudlet] = report
        return Seen(len(agent.wakeup) > 0, agent.proved, report.model_dump_json())

    def take_seen(self) -> dict[str, tuple[datetime, str | None]]:
        """Return which cloudlets' agents were heard of since the last call, with time and version."""
        seen, self._seen = self._seen, {}
        return seen

    def _see(self, cloudlet: str, version: str | None) -> None:
        moment = now()
        self.of(cloudlet).last_seen = moment
        self._seen[cloudlet] = (moment, version or self._seen.get(cloudlet, (moment, None))[1])


def _same(report: Report, before: Report) -> bool:
    """Return whether two reports are the same, apart from the parts that always differ."""
    return report.steady == before.steady


def _problems(report: Report) -> list[str]:
    problems = [f"{state.endpoint}: {problem}" for state in report.endpoints for problem in state.problems]
    return sorted([*problems, *(finding.text for finding in report.findings)])
