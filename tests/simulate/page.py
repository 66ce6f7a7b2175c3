"""The figures as a page, with a plot beside it."""

from datetime import UTC, datetime
from pathlib import Path

from tests.simulate.figures import Figure, Figures
from tests.simulate.plot import plot
from tests.simulate.towns import DEVICES

INTRO = """# How a region grows

Made by `{command}` in {minutes:.0f} minutes ({machine}; load average {load} when
it began; {date}); all of it is `make simulate`. A simulation: cloudlets, their agents and their devices are made up,
and there is no route server (for that, see [routeserver.md](routeserver.md)). The decisions, the change flow, the REST
API and both databases, on a disk, are the real ones; API calls are made in the controller's process, so that they lack
the socket. Towns of twenty cloudlets lie far apart, all EVPN, ten devices each; the policy in force places everybody by
proximity.

![Growth](scale.svg)

Times are medians / p99 in ms; of fewer than 100 the p99 is the slowest. Where a row is about both databases, SQLite is
first.

"""

ABOUT = {
    "placing": "Where somebody goes who comes to a town: the pure decision, with the geodesics (bar: 10 ms, p99).",
    "enrolment": "Invited, enrolled, given a LAN, and placed in the pools of the town: three calls.",
    "join": "A member's call to join its pool, until the agents of all members have reported the change.",
    "leave": "The same for the call to leave.",
    "removal": "Drained and removed; the pools that it was in are looked at and split if they fall apart.",
    "lease": "Agents gave out addresses from ranges of their own and tell of it, by tens, 20 agents at once; half "
    "of the devices are new (bar: 2,000 a second over several controllers on PostgreSQL; this is one).",
    "neighbour report": "Twenty neighbours in a report, hundreds of agents at once; the second in which reports gather "
    "for a transaction is in it.",
    "policy check": "`weft policy check` (`/policy/check`) for a policy that has, beside the family by proximity, 200 "
    "pools by label with everybody in one: the file is read, and its steps, tests (it has none), disconnects and "
    "struck leases are worked out against the region.",
    "policy plan": "`weft policy plan` (`/policy/plan`) for the same: that, then the rehearsal, which says who of the "
    "agents is sent what, and the mark of the plan. No route server is asked, no agent is connected, and there are no "
    "access rules.",
}

STATE = {
    "fill": "Rows for that many cloudlets and ten times as many devices, s",
    "start": "A controller's start on the database, ms",
    "resident": "Memory of the controller (and of the simulation), MB",
}


def publish(page: Path, figures: Figures) -> None:
    """Write the page and, beside it, the plot. Keep the text of the page below the tables."""
    said = page.read_text().partition("\n## What it means\n") if page.exists() else ("", "", "")
    text = INTRO.format(
        minutes=figures.seconds / 60,
        machine=figures.machine,
        command=figures.command,
        load=figures.load,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
    )
    page.write_text(text + _table(figures) + "".join(said[1:]))
    plot(page.with_suffix(".svg"), figures)


def _table(figures: Figures) -> str:
    sizes = sorted({figure.cloudlets for figure in figures.figures})
    lines = ["| | " + " | ".join(f"{size:,}" for size in sizes) + " |", "| --- |" + " ---: |" * len(sizes)]
    lines.append("| devices | " + " | ".join(f"{size * DEVICES:,}" for size in sizes) + " |")
    for step in ABOUT:
        for database in ("", "sqlite", "postgresql"):
            found = {f.cloudlets: f for f in figures.figures if (f.step, f.database) == (step, database)}
            if found:
                name = f"{step}, {NAMES[database]}" if database else step
                lines.append(f"| {name} | " + " | ".join(_cell(found.get(size)) for size in sizes) + " |")
    for key, about in STATE.items():
        cells = []
        for size in sizes:
            here = [value for cloudlets, _, name, value in figures.state if (cloudlets, name) == (size, key)]
            cells.append(" / ".join(f"{value:,.0f}" for value in here))
        lines.append(f"| {about} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"- *{step}*: {about}" for step, about in ABOUT.items()), ""])


NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    if figure.rate is not None:
        return f"{figure.rate:,.0f}/s"
    return f"{_short(figure.p50)} / {_short(figure.p99)}"


def _short(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 1 else f"{ms:.2f}"
