"""Throughput against time, with slots and steps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lab.plot.style import COLOURS, GREY, INK, PALE, style
from lab.throughput import Span

SHADES = ("#e3f1e3", "#ececec", "#fdf4da", "#f9d5ca", "#dfecf7")
MARK: dict[str, Any] = {"color": PALE, "linewidth": 0.6, "linestyle": (0, (4, 3)), "zorder": 1}


def throughput(
    path: Path,
    title: str,
    rates: Sequence[float],
    slots: Sequence[Span],
    steps: Sequence[Span] = (),
    *,
    seconds: float,
    subtitle: str = "",
) -> list[Path]:
    """Draw Mbit/s over `seconds`, with slots as shaded spans, and steps as marks with a lane each below. Write `path`
    with the suffixes .svg and .png, and return both."""
    with style():
        figure = Figure(figsize=(11, 4.2 + 0.22 * len(steps)), layout="constrained")
        ratios = [3.4, 0.22 * len(steps) + 0.5] if steps else [1.0]
        axes = figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        _curve(axes[0], rates, slots, seconds)
        for one in axes:
            for slot, shade in zip(slots, SHADES, strict=False):
                one.axvspan(slot.began, slot.ended, color=shade, linewidth=0, zorder=0)
        for step in steps:
            axes[0].axvline(step.began, **MARK)
        if steps:
            _lanes(axes[1], steps, seconds)
        axes[-1].set_xlabel("seconds since the stream began")
        axes[-1].set_xlim(0, seconds)
        _headed(figure, title, subtitle)
        legend = [
            Patch(
                facecolor=shade,
                edgecolor=PALE,
                linewidth=0.5,
                label=f"{slot.name}  {slot.about} ({slot.seconds:.1f} s)",
            )
            for slot, shade in zip(slots, SHADES, strict=False)
        ]
        figure.legend(handles=legend, loc="outside lower center", ncols=2, frameon=False, handlelength=1.4)
        return _saved(figure, path)


def _curve(axes: Axes, rates: Sequence[float], slots: Sequence[Span], seconds: float) -> None:
    times = [seconds * number / len(rates) for number in range(len(rates))]
    axes.fill_between(times, rates, step="post", color=COLOURS[0], alpha=0.18, linewidth=0)
    axes.step(times, rates, where="post", color=COLOURS[0], linewidth=1.2)
    axes.set_ylim(0, max(rates, default=1.0) * 1.2 or 1.0)
    axes.set_ylabel("received by the device, Mbit/s")
    axes.grid(axis="y")
    for slot in slots:
        place = (slot.began + slot.ended) / 2, 0.985
        words = axes.get_xaxis_transform()
        axes.text(*place, slot.name, transform=words, ha="center", va="top", fontsize=13, fontweight="bold", color=INK)


def _lanes(axes: Axes, steps: Sequence[Span], seconds: float) -> None:
    """Draw a bar for each step, where its mark ends, with its length beside it."""
    axes.set_ylim(len(steps) - 0.4, -0.6)
    for number, step in enumerate(steps):
        axes.plot([step.began, step.began], [-0.6, number], **MARK)
        axes.barh(number, step.seconds, left=step.began, height=0.62, color=COLOURS[1], edgecolor=COLOURS[1])
        took = f"{step.seconds:.1f} s" if step.seconds >= 1 else f"{step.seconds * 1000:.0f} ms"
        left = step.began > seconds / 8
        axes.annotate(
            took,
            (step.began if left else step.ended, number),
            (-6 if left else 6, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=8,
            color=INK,
        )
    axes.set_yticks(range(len(steps)), [step.name for step in steps])
    axes.tick_params(axis="y", length=0)


def _headed(figure: Figure, title: str, subtitle: str) -> None:
    axes = figure.axes[0]
    axes.set_title(title, loc="left", pad=26 if subtitle else 10, fontsize=14, fontweight="bold", color=INK)
    if subtitle:
        axes.annotate(
            subtitle, (0, 1), (0, 9), xycoords="axes fraction", textcoords="offset points", color=GREY, va="bottom"
        )


def _saved(figure: Figure, path: Path) -> list[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    svg, png = (path.with_name(f"{path.name}.{suffix}") for suffix in ("svg", "png"))
    figure.savefig(svg, metadata={"Date": None})
    figure.savefig(png, dpi=150)
    return [svg, png]
