"""What a run found."""

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
    """One thing measured at one size. Times in ms; `count` is how often it was done, `rate` per second where several
    were under way at once. `database` is empty for what has nothing to do with one."""

    step: str
    cloudlets: int
    database: str
    p50: float
    p99: float
    count: int
    rate: float | None = None


@dataclass
class Figures:
    """All of a run. `state` has single figures by cloudlets, database and name."""

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
    """Times of one thing done again and again, in ms."""

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
    """The smallest value that at least `percent` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def machine() -> str:
    """What this runs on, in a few words."""
    model = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), ":unknown")
    return f"{os.cpu_count()} cores, {model.split(':')[1].strip()}"


def resident_mb() -> float:
    """Memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
