"""The growth curves: a panel for each measurement, on logarithmic scales."""

from pathlib import Path

from lab.plot import growth
from tests.simulate.figures import Figure, Figures

NAMES = {"": "no database", "sqlite": "SQLite", "postgresql": "PostgreSQL"}


def plot(path: Path, figures: Figures) -> None:
    """Writes `path`, an SVG picture."""
    panels: dict[str, dict[str, dict[float, tuple[float, float | None]]]] = {}
    for step in dict.fromkeys(figure.step for figure in figures.figures):
        mine = [figure for figure in figures.figures if figure.step == step]
        rated = all(figure.rate is not None for figure in mine)
        lines = panels.setdefault(f"{step}, calls a second" if rated else f"{step}, ms", {})
        for figure in mine:
            lines.setdefault(NAMES[figure.database], {})[figure.cloudlets] = _drawn(figure, rated)
    about = "lines: median (rates: calls a second); dots: p99; across: cloudlets"
    growth(path, "Growth", about, panels, list(NAMES.values()))


def _drawn(figure: Figure, rated: bool) -> tuple[float, float | None]:
    return (figure.rate or 1.0, None) if rated else (figure.p50, figure.p99)
