"""The figures of a run."""

import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One thing measured at one size. Times are in ms; `count` is how often it was done, `rate` is per second where
    several ran at once. `database` is empty for figures that do not depend on one."""

    step: str
    cloudlets: int
    database: str
    p50: float
    p99: float
    count: int
    rate: float | None = None


@dataclass
class Figures:
    """All figures of a run. `state` has single figures by cloudlets, database and name."""

    machine: str
    load: str
    command: str = "make simulate"
    seconds: float = 0.0
    figures: list[Figure] = field(default_factory=list)
    state: list[tuple[int, str, str, float]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Figures":
        kept = json.loads(path.read_text())
        figures, state = ([Figure(**f) for f in kept.pop("figures")], [tuple(s) for s in kept.pop("state")])
        return cls(**kept, figures=figures, state=state)


@dataclass
class Watch:
    """The times of one thing that is done repeatedly, in ms."""

    times: list[float] = field(default_factory=list)

    @contextmanager
    def once(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.times.append((time.perf_counter() - started) * 1000)

    def figure(self, step: str, cloudlets: int, database: str = "", rate: float | None = None) -> Figure:
        p50, p99 = percentile(self.times, 50), percentile(self.times, 99)
        return Figure(step, cloudlets, database, round(p50, 4), round(p99, 4), len(self.times), rate)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def machine() -> str:
    """Return a short description of this machine."""
    model = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), ":unknown")
    return f"{os.cpu_count()} cores, {model.split(':')[1].strip()}"


def resident_mb() -> float:
    """Return the memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
