"""The results, as a page's table."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from lab.verify_memory.trial import Compared
from lab.verify_memory.ways import ALL


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
