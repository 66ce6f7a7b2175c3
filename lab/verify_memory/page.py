"""The results, as JSON and as a page's table."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from lab.verify_memory.trial import Compared
from lab.verify_memory.ways import ALL

MARK = "<!-- ways -->"


def kept(output: Path) -> list[Compared]:
    """Return the moves of earlier runs."""
    return [Compared(**one) for one in json.loads(output.read_text())] if output.exists() else []


def keep(found: Sequence[Compared], output: Path) -> None:
    """Write all moves, a line each."""
    lines = ",\n".join(json.dumps(asdict(one)) for one in found)
    output.write_text(f"[\n{lines}\n]\n")


def write(found: Sequence[Compared], page: Path) -> None:
    """Replace the page's table, which is all that follows its mark."""
    head = page.read_text().partition(MARK)[0]
    page.write_text(f"{head}{MARK}\n{table(found)}")


def by_way(found: Sequence[Compared]) -> Mapping[str, list[Compared]]:
    """Return the moves of each way, in the ways' order. A way without moves is left out."""
    ways = defaultdict(list)
    for one in found:
        ways[one.way].append(one)
    return {way.name: ways[way.name] for way in ALL if way.name in ways}


def table(found: Sequence[Compared]) -> str:
    """Return a table with one row per way."""
    rows = [
        "| way | moves | moves with wrong pages | wrong pages | guests not well | pages compared | pause ms | rounds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, moves in by_way(found).items():
        cells = (
            name,
            len(moves),
            sum(bool(one.wrong) for one in moves),
            sum(len(one.wrong) for one in moves),
            sum(bool(one.ails) for one in moves),
            f"{sum(one.pages for one in moves):,}",
            round(median(one.paused_ms for one in moves)),
            round(median(one.rounds for one in moves)),
        )
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows) + "\n"
