"""The results, as the tables of a page and two plots."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from lab import plot
from lab.bench_thin.cases import STATES, WAYS
from lab.bench_thin.trial import Moved

HEAD = ("state", "way", "moves", "seconds", "pause ms", "stall ms", "MB memory", "MB disk", "CPU s", "rounds")

PLAIN = ", 20 ms"
"""The end of the names of the lines that the plots show."""

DRAWN = ("plain", "zstd", "post-copy", "thin", "thin, base memory", "thin, home")
"""The ways that the plots show."""


OURS = ("thin", "thin, base memory", "thin, home")


def tables(found: Sequence[Moved]) -> str:
    """Return a table of ratios, and one for each line."""
    text = ["\n## Ours against plain and zstd\n", *ratios(found)]
    for line in dict.fromkeys(one.line for one in found):
        text += [f"\n## {line}\n", f"| {' | '.join(HEAD)} |", f"| --- | --- |{' ---: |' * (len(HEAD) - 2)}"]
        for state in STATES:
            for way in WAYS:
                moves = [one for one in found if (one.line, one.state, one.way) == (line, state, way.name)]
                if moves:
                    text.append(f"| {state} | {way.name} | {len(moves)} | {' | '.join(_cells(moves))} |")
    return "\n".join(text) + "\n"


def ratios(found: Sequence[Moved]) -> list[str]:
    """Return a table: time, pause and bytes of our ways, divided by those of plain and zstd in the same cell. Pure."""
    rows = ["| line | state | way | time: plain | time: zstd | pause: plain | bytes: plain | bytes: zstd |"]
    rows += ["| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    cells = {(one.line, one.state, one.way): list[Moved]() for one in found}
    for one in found:
        if one.seconds is not None:
            cells[one.line, one.state, one.way].append(one)
    for (line, state, way), moves in cells.items():
        if way in OURS and moves:
            plain, zstd = (cells.get((line, state, other), []) for other in ("plain", "zstd"))
            figures = [
                _ratio(moves, plain, _seconds),
                _ratio(moves, zstd, _seconds),
                _ratio(moves, plain, lambda one: one.paused_ms),
                _ratio(moves, plain, _bytes),
                _ratio(moves, zstd, _bytes),
            ]
            rows.append(f"| {line} | {state} | {way} | {' | '.join(figures)} |")
    return rows


def _ratio(ours: Sequence[Moved], theirs: Sequence[Moved], value: Callable[[Moved], float]) -> str:
    other = median(map(value, theirs)) if theirs else 0.0
    return f"{median(map(value, ours)) / other:.2f}" if other else "-"


def _cells(moves: Sequence[Moved]) -> list[str]:
    done = [one for one in moves if one.seconds is not None]
    if not done:
        return ["not in time", *["-"] * (len(HEAD) - 4)]
    seconds = [one.seconds for one in done if one.seconds is not None]
    stalls = [one.stalled_ms for one in done if one.stalled_ms is not None]
    spread = f" ({min(seconds):.1f} to {max(seconds):.1f})" if len(seconds) > 1 else ""
    return [
        f"{median(seconds):.1f}{spread}",
        f"{median(one.paused_ms for one in done):.0f}",
        f"{median(stalls):.0f}" if stalls else "-",
        f"{median(one.wire for one in done) / 1e6:.1f}",
        f"{median(one.disk for one in done) / 1e6:.1f}",
        f"{median(one.processor for one in done):.1f}",
        f"{median(one.rounds for one in done):.0f}",
    ]


def plots(found: Sequence[Moved], path: Path) -> None:
    """Draw seconds and bytes of each state over the rates of lines: PATH-time.svg and PATH-bytes.svg."""
    for name, title, unit, value in (
        ("time", "From the order until the guest runs there", "seconds", _seconds),
        ("bytes", "On the line", "MB", lambda one: _bytes(one) / 1e6),
    ):
        plot.panels(path.with_name(f"{path.stem}-{name}"), title, "Mbit/s", unit, groups(found, value))


def _seconds(one: Moved) -> float:
    return one.seconds or 0.0


def _bytes(one: Moved) -> float:
    return float(one.wire + one.disk)


def groups(found: Sequence[Moved], value: Callable[[Moved], float]) -> dict[str, dict[str, dict[float, float]]]:
    """Return the middle of a value by state, way and rate, of moves that ended in time over lines as PLAIN. Pure."""
    shown: dict[str, dict[str, dict[float, float]]] = {}
    for state in STATES:
        for way in DRAWN:
            for line in dict.fromkeys(one.line for one in found if one.line.endswith(PLAIN)):
                moves = [one for one in found if (one.line, one.state, one.way) == (line, state, way)]
                if values := [value(one) for one in moves if one.seconds is not None]:
                    shown.setdefault(state, {}).setdefault(way, {})[float(line.split()[0])] = median(values)
    return {state: ways for state, ways in shown.items() if any(len(points) > 1 for points in ways.values())}
