"""The verdict: every check of a demo or benchmark run, with its figure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Check:
    """One thing that had to hold: its name, whether it did, and a figure that says how well (a short text for users).
    `data` carries the numbers behind the figure, with units in the keys' names."""

    name: str
    ok: bool
    figure: str
    data: Mapping[str, object] = field(default_factory=dict)


class Verdict:
    """Collects checks as they happen and prints each at once."""

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def add(self, name: str, ok: bool, figure: str, **data: object) -> Check:
        """Record and print one check."""
        check = Check(name, ok, figure, data)
        self.checks.append(check)
        print(f"   {'ok  ' if ok else 'FAIL'} {name}: {figure}", flush=True)
        return check

    @property
    def ok(self) -> bool:
        """Whether there was at least one check and none failed."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    def table(self, title: str) -> Table:
        """Return the closing table."""
        from rich.table import Table

        table = Table("check", "figure", "", title=title, title_justify="left", row_styles=["", "dim"])
        for check in self.checks:
            table.add_row(check.name, check.figure, "[green]ok[/]" if check.ok else "[red]FAIL[/]")
        return table

    def write(self, path: Path, **about: object) -> None:
        """Write the checks and `about`, the data of the run, as JSON."""
        document = {"ok": self.ok, **about, "checks": [asdict(check) for check in self.checks]}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2, default=str) + "\n")
