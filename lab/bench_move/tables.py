"""Tables shaped as Teka's 6 and 7, and points for plots, with the paper's own figures beside them. Pure."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from lab.bench_move.cases import RATES, RTTS, Case, Way, cases
from lab.bench_move.figures import Figures
from lab.bench_move.kept import Run
from lab.throughput import STALL_MS

NAMES = {Way.PLAIN: "QEMU and a tunnel", Way.ONE: "Weft, one path", Way.TWO: "Weft, two paths"}
WEFT = (Way.ONE, Way.TWO)
PAPER, BAR = "Teka", "below"

PAPER_SECONDS: Mapping[Case, float] = {
    Case(20, 350): 8.12,
    Case(50, 350): 9.91,
    Case(100, 350): 15.62,
    Case(150, 350): 23.0,
    Case(50, 60): 24.0,
    Case(100, 60): 25.0,
    Case(150, 60): 26.0,
}
"""Total migration time as in table 9, whose durations are those of figures 12 to 15."""

PAPER_DOWN_MS: Mapping[Case, float] = {Case(20, 350): 204.3}
"""Network-layer downtime, from the text about figure 9."""

STALL_BAR_MS: Mapping[Case, float] = {case: STALL_MS + case.rtt_ms for case in cases()}
"""Milliseconds that the application's stall beyond the hypervisor's pause must stay below."""

TWO_TO_ONE = 0.6
"""The largest share of the time over one path that a move over two paths may take, at 60 Mbit/s."""

Value = Callable[[Figures], float]
NOTHING = "-"


def table(
    runs: Sequence[Run],
    value: Value,
    digits: int,
    known: Mapping[Case, float] | None = None,
    *,
    called: str = PAPER,
    ways: Sequence[Way] = tuple(Way),
) -> str:
    """Return a table with rates and ways down, round trips across, and medians in the cells. Below each rate stand the
    `known` figures: the paper's own, unless `called` is something else."""
    rows = ["| Mbit/s | | " + " | ".join(f"{rtt} ms" for rtt in RTTS) + " |", "| ---: | --- |" + " ---: |" * len(RTTS)]
    for rate in RATES:
        for way in ways:
            found = [cell(middle(runs, Case(rtt, rate), way, value), digits) for rtt in RTTS]
            first = f"| {rate} |" if way is ways[0] else "| |"
            rows.append(f"{first} {NAMES[way]} | " + " | ".join(found) + " |")
        if known:
            beside = [cell(known.get(Case(rtt, rate)), digits) for rtt in RTTS]
            rows.append(f"| | *{called}* | " + " | ".join(beside) + " |")
    return "\n".join(rows)


def middle(runs: Sequence[Run], case: Case, way: Way, value: Value) -> float | None:
    """Return the median of the measured values, or None if there are none."""
    found = [value(run.figures) for run in runs if (run.case, run.way) == (case, way)]
    return median(found) if found else None


def panels(runs: Sequence[Run], value: Value, paper: Mapping[Case, float]) -> dict[str, dict[str, dict[float, float]]]:
    """Return the measured values by rate and way, over the round trip."""
    found: dict[str, dict[str, dict[float, float]]] = {}
    for rate in RATES:
        ways = {
            NAMES[way]: {
                float(rtt): at for rtt in RTTS if (at := middle(runs, Case(rtt, rate), way, value)) is not None
            }
            for way in Way
        }
        ways[PAPER] = {float(case.rtt_ms): figure for case, figure in paper.items() if case.rate_mbit == rate}
        found[f"{rate} Mbit/s"] = {name: points for name, points in ways.items() if points}
    return found


def steps(runs: Sequence[Run]) -> str:
    ways = [way for way in Way if any(run.way is way for run in runs)]
    names = list(dict.fromkeys(name for run in runs for name in run.figures.steps))
    rows = ["| step | " + " | ".join(NAMES[way] for way in ways) + " |", "| --- |" + " ---: |" * len(ways)]
    for name in names:
        found = [
            [run.figures.steps[name] for run in runs if run.way is way and name in run.figures.steps] for way in ways
        ]
        rows.append(f"| {name} | " + " | ".join(cell(median(one) if one else None, 2) for one in found) + " |")
    return "\n".join(rows) if names else "Not measured yet."


def beyond_pause(runs: Sequence[Run]) -> str:
    """Return the table, and a sentence with the number of its cells that miss the target below them."""
    cells = [(case, middle(runs, case, way, _beyond)) for case in cases() for way in WEFT]
    late = [ms >= STALL_BAR_MS[case] for case, ms in cells if ms is not None]
    told = table(runs, _beyond, 0, STALL_BAR_MS, called=BAR, ways=WEFT)
    return f"{told}\n\nMissed in {sum(late)} of {len(late)} cells."


def two_to_one(runs: Sequence[Run]) -> str:
    """Return the table, and a sentence with its cells that miss the target."""
    rows = ["| round trip | one path, s | two paths, s | of one |", "| ---: | ---: | ---: | ---: |"]
    late = []
    for rtt in RTTS:
        one, two = (middle(runs, Case(rtt, 60), way, seconds) for way in WEFT)
        if one is not None and two is not None:
            rows.append(f"| {rtt} ms | {one:.1f} | {two:.1f} | **{two / one:.2f}** |")
            if two / one > TWO_TO_ONE:
                late.append(f"{rtt} ms ({two / one:.2f})")
    if len(rows) == 2:
        return "Not measured in a whole region yet. The driver alone takes about half the time ([qemu](qemu.md))."
    told = f"At most {TWO_TO_ONE} of the time over one path is aimed at."
    missed = f"Missed in {len(late)} of {len(rows) - 2} cells" + (f": {', '.join(late)}." if late else ".")
    return "\n\n".join((told, "\n".join(rows), missed))


def _beyond(figures: Figures) -> float:
    return max(figures.stall_ms - figures.paused_ms, 0.0)


def seconds(figures: Figures) -> float:
    return figures.seconds


def cell(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"
