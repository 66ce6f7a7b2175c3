"""The results as a table, with the paper's figures beside them. Pure."""

from collections.abc import Sequence
from statistics import median

from lab.bench_container.cases import MA, RATES, SERVICES, WAYS
from lab.bench_container.trial import Moved

HEAD = ("container", "Mbit/s", "way", "moves", "seconds", "frozen, s", "MB", "time: whole", "Ma et al., s")


def table(found: Sequence[Moved]) -> str:
    """Return the table: the middle of each cell, and its time as a part of that of the whole file system."""
    rows = ["", f"| {' | '.join(HEAD)} |", f"| --- | ---: | --- |{' ---: |' * (len(HEAD) - 3)}"]
    for service in SERVICES:
        for rate in RATES:
            cells = {
                way: [one for one in found if (one.service, one.rate, one.way) == (service, rate, way)] for way in WAYS
            }
            for way, moves in cells.items():
                if moves:
                    seconds = median(one.seconds for one in moves)
                    whole = median(one.seconds for one in cells["whole"]) if cells["whole"] else 0.0
                    figures = [
                        f"{seconds:.1f}",
                        f"{median(one.frozen for one in moves):.2f}",
                        f"{median(one.wire for one in moves) / 1e6:.2f}",
                        f"{seconds / whole:.2f}" if whole else "-",
                        f"{MA[service, rate]:g}" if way == "weft" and (service, rate) in MA else "",
                    ]
                    rows.append(f"| {service} | {rate} | {way} | {len(moves)} | {' | '.join(figures)} |")
    return "\n".join(rows) + "\n"
