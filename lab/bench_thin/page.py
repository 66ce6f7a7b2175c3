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


def tables(found: Sequence[Moved]) -> str:
    """Return a table for each line."""
    text = []
    for line in dict.fromkeys(one.line for one in found):
        text += [f"\n## {line}\n", f"| {' | '.join(HEAD)} |", f"| --- | --- |{' ---: |' * (len(HEAD) - 2)}"]
        for state in STATES:
            for way in WAYS:
                moves = [one for one in found if (one.line, one.state, one.way) == (line, state, way.name)]
                if moves:
                    text.append(f"| {state} | {way.name} | {len(moves)} | {' | '.join(_cells(moves))} |")
    return "\n".join(text) + "\n"


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
        ("bytes", "On the line", "MB", lambda one: (one.wire + one.disk) / 1e6),
    ):
        plot.panels(path.with_name(f"{path.stem}-{name}"), title, "Mbit/s", unit, groups(found, value))


def _seconds(one: Moved) -> float:
    return one.seconds or 0.0


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
