"""Lines in panels side by side."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lab.plot.style import COLOURS, INK, style


def panels(
    path: Path,
    title: str,
    x: str,
    y: str,
    groups: Mapping[str, Mapping[str, Mapping[float, float]]],
) -> Path:
    """Draw a panel for each group, all of the same height, with a line through the points (x, y) of each name, which
    has one colour in all panels. Write `path` with the suffix .svg, and return it."""
    names = list(dict.fromkeys(name for lines in groups.values() for name in lines))
    with style():
        figure = Figure(figsize=(3.6 * max(len(groups), 1), 3.6), layout="constrained")
        drawn = figure.subplots(1, max(len(groups), 1), sharey=True, squeeze=False)[0]
        for axes, (group, lines) in zip(drawn, groups.items(), strict=False):
            for name, points in lines.items():
                at = sorted(points)
                colour = COLOURS[names.index(name) % len(COLOURS)]
                axes.plot(at, [points[place] for place in at], marker="o", markersize=4, color=colour)
            axes.set_title(group, fontsize=10)
            axes.set_xlabel(x)
            axes.set_xticks(sorted({place for points in lines.values() for place in points}))
            axes.grid(axis="y")
        drawn[0].set_ylabel(y)
        highest = max(
            (at for lines in groups.values() for points in lines.values() for at in points.values()), default=1.0
        )
        drawn[0].set_ylim(0, highest * 1.08)
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold", color=INK)
        legend = [Patch(color=COLOURS[number % len(COLOURS)], label=name) for number, name in enumerate(names)]
        figure.legend(handles=legend, loc="outside lower left", ncols=4, frameon=False, handlelength=1.2)
        svg = path.with_name(f"{path.name}.svg")
        svg.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(svg, metadata={"Date": None})
        return svg


def growth(
    path: Path,
    title: str,
    about: str,
    groups: Mapping[str, Mapping[str, Mapping[float, tuple[float, float | None]]]],
    names: Sequence[str],
) -> None:
    """Draw a panel for each group, logarithmic both ways: a line through the first of the values by x, and dots where
    there is a second. Each of the `names` has one colour in all panels. Write `path`, an SVG file."""
    columns = 3
    rows = -(-len(groups) // columns)
    with style():
        figure = Figure(figsize=(11, 2.4 * rows + 1), layout="constrained")
        drawn = iter(figure.subplots(rows, columns, squeeze=False).flat)
        for group, lines in groups.items():
            _logarithmic(axes := next(drawn), group, lines)
            for name, points in lines.items():
                colour = COLOURS[names.index(name) % len(COLOURS)]
                at = sorted(points)
                axes.plot(at, [points[place][0] for place in at], color=colour, linewidth=1.6)
                dots = {place: second for place in at if (second := points[place][1]) is not None}
                axes.plot(list(dots), list(dots.values()), "o", color=colour, markersize=3.5)
        for axes in drawn:
            axes.set_axis_off()
        figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold", color=INK)
        legend = [Patch(color=COLOURS[number % len(COLOURS)], label=name) for number, name in enumerate(names)]
        words = {"title": about, "ncols": len(names), "frameon": False, "handlelength": 1.2}
        figure.legend(handles=legend, loc="outside lower center", **words)
        figure.savefig(path, metadata={"Date": None})


def _logarithmic(axes: Axes, title: str, lines: Mapping[str, Mapping[float, tuple[float, float | None]]]) -> None:
    """Set the axes for the lines, whole powers of ten high."""
    values = [value for points in lines.values() for both in points.values() for value in both if value]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    axes.set(title=title, xscale="log", yscale="log", ylim=(10**low, 10 ** max(high, low + 1)))
    axes.set_xticks(sorted({at for points in lines.values() for at in points}))
    axes.set_yticks([10**power for power in range(low, max(high, low + 1) + 1)])
    axes.xaxis.set_major_formatter(lambda at, _: f"{at / 1000:g}k" if at >= 1000 else f"{at:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.tick_params(which="minor", length=0, labelbottom=False, labelleft=False)
    axes.grid(axis="y")
