"""The results, as the tables of a page."""

from collections.abc import Sequence
from statistics import median

from lab.bench_thin.cases import STATES, WAYS
from lab.bench_thin.trial import Moved


def tables(found: Sequence[Moved]) -> str:
    """Return a table for each line."""
    text = []
    for line in dict.fromkeys(one.line for one in found):
        text += [f"\n## {line}\n", "| state | way | moves | seconds | pause ms | MB on the wire | rounds |"]
        text += ["| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
        for state in STATES:
            for way in WAYS:
                moves = [one for one in found if (one.line, one.state, one.way) == (line, state, way.name)]
                if moves:
                    text.append(f"| {state} | {way.name} | {len(moves)} | {' | '.join(_cells(moves))} |")
    return "\n".join(text) + "\n"


def _cells(moves: Sequence[Moved]) -> list[str]:
    done = [one for one in moves if one.seconds is not None]
    if not done:
        return ["not in time", *["-"] * 3]
    seconds = [one.seconds for one in done if one.seconds is not None]
    spread = f" ({min(seconds):.1f} to {max(seconds):.1f})" if len(seconds) > 1 else ""
    return [
        f"{median(seconds):.1f}{spread}",
        f"{median(one.paused_ms for one in done):.0f}",
        f"{median(one.wire for one in done) / 1e6:.1f}",
        f"{median(one.rounds for one in done):.0f}",
    ]
