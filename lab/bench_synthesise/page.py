"""The results as a table. Pure."""

from collections.abc import Sequence
from statistics import median

from lab.bench_synthesise.trial import Served, Way

HEAD = ("Mbit/s", "MiB", "move, s", "new, s", "first", "predicted move, s", "expected new, s", "decided", "right")


def table(found: Sequence[Served]) -> str:
    """Return the table: the middle of each cell, and how often the decision was for the way that served first."""
    rows = ["", f"| {' | '.join(HEAD)} |", f"| ---: | ---: |{' ---: |' * (len(HEAD) - 2)}"]
    for rate, mib in sorted({(one.rate, one.mib) for one in found}):
        cell = [one for one in found if (one.rate, one.mib) == (rate, mib)]
        move, new = _seconds(cell, "move"), _seconds(cell, "synthesise")
        if move is None or new is None:
            continue
        first = "move" if move < new else "synthesise"
        decided = [one.course for one in cell]
        figures = [
            f"{move:.1f}",
            f"{new:.1f}",
            first,
            _middle([one.predicted for one in cell]),
            _middle([one.initiation for one in cell]),
            f"{decided.count('move')} move, {decided.count('synthesise')} synthesise",
            f"{decided.count(first)} of {len(decided)}",
        ]
        rows.append(f"| {rate} | {mib} | {' | '.join(figures)} |")
    return "\n".join(rows) + "\n"


def _seconds(cell: Sequence[Served], way: Way) -> float | None:
    return median(found) if (found := [one.seconds for one in cell if one.way == way]) else None


def _middle(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known):.1f}" if known else "-"
