"""The saved figures: a JSON file that has every move as soon as it was measured."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from lab.bench_move.cases import Case, Way
from lab.bench_move.figures import Figures
from lab.errors import LabError


@dataclass(frozen=True)
class Run:
    """One move. `at` is the time of its measurement (ISO 8601, UTC), `load` and `load_after` are the machine's load
    averages (of a minute) before its lab was made and after it was gone, and `cpus` and `machine` describe the
    machine."""

    case: Case
    way: Way
    figures: Figures
    at: str
    load: float
    cpus: int
    machine: str
    load_after: float | None = None

    @classmethod
    def now(cls, case: Case, way: Way, figures: Figures, load: float) -> Self:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        machine = f"{_processor()}, Linux {platform.release()}"
        return cls(case, way, figures, at, load, os.cpu_count() or 1, machine, os.getloadavg()[0])


def read(path: Path) -> list[Run]:
    """Return the runs in the file, or an empty list if there is no such file yet. Raises LabError if the file is
    something else."""
    if not path.exists():
        return []
    try:
        return [
            Run(**{**run, "case": Case(**run["case"]), "way": Way(run["way"]), "figures": Figures(**run["figures"])})
            for run in json.loads(path.read_text())["runs"]
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LabError(f"{path} has no figures of bench-move: {error}") from None


def write(path: Path, runs: Sequence[Run]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".new")
    written.write_text(json.dumps({"runs": [asdict(run) for run in runs]}, indent=1) + "\n")
    written.replace(path)


def _processor() -> str:
    """Return the processor's name, where the kernel gives it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
