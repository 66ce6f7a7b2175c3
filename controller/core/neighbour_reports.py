"""The effect of neighbour reports on the stored values. Pure: the caller reads the old values and writes the new
ones."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controller.core.neighbour_history import HOUR, ROUND, Summary, kept, start
from controller.core.neighbours import Standing, judge, lifetime
from controller.core.policy.model import Neighbours
from controller.wire.neighbours import Measurement, NeighbourReport

Pair = tuple[str, str]
"""The measuring cloudlet, and the measured one."""


@dataclass(frozen=True)
class Reporter:
    """The progress of a cloudlet's reports: all rounds of `run` up to `number` are received. The agent dropped
    `dropped` rounds in all its runs, `dropped_now` of them in this one. `rolled_until`: from here on the history has to
    be rolled up."""

    run: str
    number: int
    dropped: int
    dropped_now: int
    heard_at: datetime
    rolled_until: datetime


@dataclass(frozen=True)
class Current:
    """The current value of a pair, as it is stored."""

    at: datetime
    fresh_until: datetime
    method: str
    sent: int
    received: int
    min_ms: float | None
    median_ms: float | None
    p95_ms: float | None
    jitter_ms: float | None
    loss: float
    possible: bool
    since: datetime


@dataclass
class Intake:
    """Reports taken in one after the other. `reporters` and `current` hold the old values and are updated to the new
    ones; `rounds` are the additions to the history. Rounds are `repeated` when the answer to a report was lost,
    `unknown` when a cloudlet was removed, and `too_old` for the history when an agent was disconnected for very
    long."""

    policy: Neighbours
    cloudlets: Container[str]
    now: datetime
    reporters: dict[str, Reporter]
    current: dict[Pair, Current]
    rounds: dict[tuple[str, str, datetime], Summary] = field(default_factory=dict)
    repeated: int = 0
    unknown: int = 0
    too_old: int = 0

    def __post_init__(self) -> None:
        self._before: Mapping[Pair, Current] = dict(self.current)
        self._touched: dict[Pair, None] = {}
        self._holds = lifetime(self.policy)
        self._oldest = self.now - kept(ROUND, self.policy.probe_seconds) + timedelta(seconds=HOUR)

    def take(self, report: NeighbourReport, at: datetime) -> None:
        """Take in a report that arrived at the time `at`."""
        name, before = report.cloudlet, self.reporters.get(report.cloudlet)
        same = before is not None and before.run == report.run
        last = before.number if before and same else -1
        rolled = before.rolled_until if before else start(at, HOUR)
        for measured in report.measurements:
            if measured.number <= last:
                self.repeated += 1
                continue
            last = measured.number
            if measured.neighbour == name or measured.neighbour not in self.cloudlets:
                self.unknown += 1
                continue
            moment = at - timedelta(seconds=measured.age)
            self._measured((name, measured.neighbour), measured, moment)
            if moment < self._oldest:
                self.too_old += 1
                continue
            self.rounds[name, measured.neighbour, moment] = _summary(measured)
            if moment < rolled:
                rolled = start(moment, HOUR)
        dropped_before = before.dropped if before else 0
        dropped_now = max(report.dropped, before.dropped_now) if before and same else report.dropped
        more = dropped_now - (before.dropped_now if before and same else 0)
        self.reporters[name] = Reporter(report.run, last, dropped_before + more, dropped_now, at, rolled)

    def _measured(self, pair: Pair, measured: Measurement, at: datetime) -> None:
        before = self.current.get(pair)
        if before is not None and at < before.at:
            return
        known = Standing(before.possible, before.loss) if before and before.fresh_until >= at else None
        standing = judge(self.policy, known, measured.median_ms, 1 - measured.received / measured.sent)
        until = at + self._holds
        possible = standing.possible and until > self.now
        self.current[pair] = Current(
            at=at,
            fresh_until=until,
            method=measured.method,
            sent=measured.sent,
            received=measured.received,
            min_ms=measured.min_ms,
            median_ms=measured.median_ms,
            p95_ms=measured.p95_ms,
            jitter_ms=measured.jitter_ms,
            loss=standing.loss,
            possible=possible,
            since=before.since if before and before.possible == possible else at,
        )
        self._touched[pair] = None

    @property
    def added(self) -> dict[Pair, Current]:
        """The new values of pairs that had none."""
        return {pair: self.current[pair] for pair in self._touched if pair not in self._before}

    @property
    def changed(self) -> dict[Pair, Current]:
        """The new values of pairs that had one."""
        return {pair: self.current[pair] for pair in self._touched if pair in self._before}

    def news(self) -> Iterator[tuple[Pair, bool]]:
        """Yield the pairs whose neighbour became possible (True), or stopped being possible (False)."""
        for pair in self._touched:
            was = self._before[pair].possible if pair in self._before else False
            if was != self.current[pair].possible:
                yield pair, not was


def _summary(measured: Measurement) -> Summary:
    return Summary(
        rounds=1,
        method=measured.method,
        sent=measured.sent,
        received=measured.received,
        min_ms=measured.min_ms,
        median_ms=measured.median_ms,
        p95_ms=measured.p95_ms,
        jitter_ms=measured.jitter_ms,
    )
