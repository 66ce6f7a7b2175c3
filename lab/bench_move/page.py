"""The figures as a page. Its tables are shaped as Teka's 6 and 7, with the paper's own figures beside them."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from textwrap import fill

from lab import plot
from lab.bench_move.cases import DOWN, MEMORY, UP, WORKING, WRITTEN, Case, Way, cases
from lab.bench_move.figures import Figures
from lab.bench_move.kept import Run
from lab.bench_move.tables import (
    NAMES,
    NOTHING,
    PAPER_DOWN_MS,
    PAPER_SECONDS,
    beyond_pause,
    panels,
    seconds,
    steps,
    table,
    two_to_one,
)
from lab.throughput import STALL_MS


def line(figures: Figures) -> str:
    """Return one move in a line, for the terminal."""
    return (
        f"{figures.seconds:.1f} s, answers after {figures.answering_seconds:.1f} s, silent {figures.down_ms:.0f} ms, "
        f"stall {figures.stall_ms:.0f} ms, {figures.wan_bytes / 1e6:.0f} MB, paths {figures.paths}, Mbit/s "
        f"{figures.before / 1e6:.0f} {figures.during / 1e6:.1f} {figures.after / 1e6:.0f}"
    )


def write(path: Path, runs: Sequence[Run]) -> None:
    """Write the page, and its plots beside it: PATH-time.svg and so on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(runs, path.stem))
    for name, title, unit, value, paper in (
        ("time", "From the order until all is done", "seconds", seconds, PAPER_SECONDS),
        ("downtime", "Neither address answers", "ms", _down, PAPER_DOWN_MS),
        ("after", "What the application gets after the move", "Mbit/s", _after, {}),
    ):
        plot.panels(path.with_name(f"{path.stem}-{name}"), title, "round trip, ms", unit, panels(runs, value, paper))


def page(runs: Sequence[Run], stem: str = "bench-move") -> str:
    parts = [
        "# Moves, measured",
        _about(runs),
        "## Total migration time (Teka's table 6)",
        "Seconds from the order until there is nothing left to be done. With Weft that includes the new address, its "
        "join by the device, the end of the old one and of the source's copy; with QEMU alone the route into the "
        "tunnel.",
        table(runs, seconds, 1, PAPER_SECONDS),
        f"![Total migration time]({stem}-time.svg)",
        "Seconds from the order until the guest answered at the destination:",
        table(runs, lambda figures: figures.answering_seconds, 1),
        "## Network downtime (Teka's table 7)",
        "The longest time, in milliseconds, in which neither the old address nor the new one answered a ping. Both are "
        "pinged every 10 ms, the old one by the device and the new one by the gateway beside it; QEMU alone keeps the "
        "old one.",
        table(runs, _down, 0, PAPER_DOWN_MS),
        f"![Network downtime]({stem}-downtime.svg)",
        "The hypervisor's own account of the pause, in milliseconds (Weft: from `stop` to the last word of the "
        "destination; QEMU: its `downtime`, which leaves out a part):",
        table(runs, lambda figures: figures.paused_ms, 0),
        "## Application stall",
        "The longest time without a byte at the device, in milliseconds:",
        table(runs, lambda figures: figures.stall_ms, 0),
        "## Stall beyond the pause",
        f"The application's stall without the hypervisor's own pause, in milliseconds. Less than {STALL_MS:.0f} ms and "
        "one round trip is aimed at.",
        beyond_pause(runs),
        "## Bytes over the WAN",
        "MB that left the source cloudlet while the move went on, over all paths, the application's stream among them:",
        table(runs, lambda figures: figures.wan_bytes / 1e6, 0),
        "## Throughput",
        "Mbit/s that the guest's stream comes to at full speed, **before** the move, over the WAN:",
        table(runs, lambda figures: figures.before / 1e6, 0),
        f"of the {DOWN * 8 / 1e6:.0f} Mbit/s that the application asks for, **during** the move:",
        table(runs, lambda figures: figures.during / 1e6, 1),
        "at full speed **after** it, at the address that the guest is known by then:",
        table(runs, _after, 0),
        f"![Throughput after the move]({stem}-after.svg)",
        "## Round trip",
        "Milliseconds, median of the pings to the guest, **before** the move:",
        table(runs, lambda figures: figures.rtt_before_ms, 0),
        "**during** it:",
        table(runs, lambda figures: figures.rtt_during_ms, 0),
        "and in the second **after** it:",
        table(runs, lambda figures: figures.rtt_after_ms, 0),
        "## Two paths at 60 Mbit/s",
        two_to_one(runs),
        "## Where the time goes",
        "Seconds that a step took, medians over all cases (`tunnel`: until the route into it is there):",
        steps(runs),
        PROSE.read_text(),
    ]
    return "\n\n".join(_wrapped(part.strip()) for part in parts if part) + "\n"


PROSE = Path(__file__).with_name("prose.md")
"""The text that is not computed: how the benchmark measures, and what limits the figures."""


def _wrapped(text: str) -> str:
    """Return the text with prose in lines of 120 characters; tables, headings and lists stay as they are."""
    whole = text.split("\n\n")
    return "\n\n".join(one if one[0] in "|#!-" else fill(one, 120, break_on_hyphens=False) for one in whole)


def _about(runs: Sequence[Run]) -> str:
    """Return how it was measured, and which cases were not."""
    if not runs:
        return "Nothing has been measured yet."
    machines = sorted({f"{run.machine}, {run.cpus} CPUs" for run in runs})
    loads = sorted(max(run.load, run.load_after or 0.0) for run in runs)
    days = sorted({run.at[:10] for run in runs})
    measured = {(run.case, run.way) for run in runs}
    left = [_left(case, [way for way in Way if (case, way) not in measured]) for case in cases()]
    most = max(sum((run.case, run.way) == one for run in runs) for one in measured)
    told = (
        f"Made by `make bench-move`; do not edit. {len(runs)} moves, {' and '.join(days)}, on {'; '.join(machines)}; "
        f"load average around a move {loads[0]:.1f} to {loads[-1]:.1f}, median {median(loads):.1f}. "
        + (f"Cells are medians of up to {most} moves." if most > 1 else "Every cell is one move.")
    )
    if median(loads) > 1.5 * runs[0].cpus:
        told += " **The machine was busy with other work meanwhile**: on a quiet one times are shorter."
    setting = (
        f"The same guest each time: {MEMORY} MiB, one CPU, {WORKING} MiB of it rewritten at {WRITTEN} MiB/s with bytes "
        f"that cannot be compressed; it streams {DOWN * 8 / 1e6:.0f} Mbit/s to its device and gets "
        f"{UP * 8 / 1e6:.1f} Mbit/s, and every byte of stream and memory is checked. The device has come to the "
        "destination already."
    )
    if any(left):
        setting += f"\n\n**Not measured** ({NOTHING} in the tables): {'; '.join(filter(None, left))}."
    return f"{told}\n\n{setting}"


def _left(case: Case, ways: Sequence[Way]) -> str:
    """Return the ways of a case that were not measured; empty if all were."""
    only = f" ({', '.join(NAMES[way] for way in ways)})" if len(ways) < len(Way) else ""
    return f"{case}{only}" if ways else ""


def _down(figures: Figures) -> float:
    return figures.down_ms


def _after(figures: Figures) -> float:
    return figures.after / 1e6
