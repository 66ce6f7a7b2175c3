"""Charts for the terminal, made of characters: throughput against time, and a timeline of spans. Pure."""

from collections.abc import Sequence
from math import ceil, floor, log10

from lab.throughput import Span

WIDTH = 96
BLOCKS = " ▁▂▃▄▅▆▇█"
MARGIN = 8
"""Columns left of the y axis, including the axis."""

LEFT = 40
"""Columns left of a timeline."""


def throughput(rates: Sequence[float], slots: Sequence[Span], seconds: float, height: int = 8) -> list[str]:
    """Return lines of at most `WIDTH` characters: Mbit/s over `seconds`, and the slots below."""
    width = WIDTH - MARGIN
    columns = [_mean(rates, number / width, (number + 1) / width) for number in range(width)]
    top = nice(max(columns, default=0.0))
    lines = [f"{'Mbit/s':>{MARGIN - 2}}"]
    for row in reversed(range(height)):
        label = f"{top * (row + 1) / height:g}" if row % 2 else ""
        cells = (BLOCKS[min(max(round((value / top * height - row) * 8), 0), 8)] for value in columns)
        lines.append(f"{label:>{MARGIN - 2}} {'┤' if label else '│'}{''.join(cells)}".rstrip())
    lines.append(" " * (MARGIN - 1) + "└" + _ruler(slots, seconds, width))
    lines.append(" " * MARGIN + _times(seconds, width))
    return lines


def timeline(spans: Sequence[Span]) -> list[str]:
    """Return a line for each span: its name, its beginning, its length, and its place in the whole."""
    if not spans:
        return []
    first, last = min(span.began for span in spans), max(span.ended for span in spans)
    scale = (WIDTH - LEFT - 1) / max(last - first, 1e-9)
    lines = []
    for span in spans:
        left, right = round((span.began - first) * scale), round((span.ended - first) * scale)
        what = f"{span.name:<17}{span.began:7.2f} s {span.seconds * 1000:7,.0f} ms"
        lines.append(f"{what:<{LEFT}}{' ' * left}{'█' * (right - left) or '▏'}")
    return lines


def nice(value: float) -> float:
    """Return the next number with round quarters, for the end of an axis."""
    if value <= 1:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(power * step for step in (1, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if power * step >= value)


def _mean(values: Sequence[float], begin: float, end: float) -> float:
    """Return the mean of the values between two shares of the sequence, of one value at least."""
    first = min(floor(begin * len(values)), len(values) - 1)
    last = max(ceil(end * len(values)), first + 1)
    chosen = values[first:last]
    return sum(chosen) / len(chosen) if chosen else 0.0


def _ruler(slots: Sequence[Span], seconds: float, width: int) -> str:
    """Return a ruler with every slot from its beginning to its end, and its name in the middle."""
    cells = ["─"] * width
    place = [min(max(round(slot.began / seconds * width), 0), width - 1) for slot in slots]
    for at in place[1:]:
        cells[at] = "┴"
    for slot, at, after in zip(slots, place, [*place[1:], width], strict=True):
        cells[min((at + after) // 2, width - 1)] = slot.name
    return "".join(cells)


def _times(seconds: float, width: int) -> str:
    """Return the seconds below the ruler, at their places."""
    step = next((step for step in (1, 2, 5, 10, 20, 50, 100) if seconds / step <= 12), 1000)
    line = ""
    for at in range(0, int(seconds) + 1, step):
        if (left := round(at / seconds * width)) + len(f"{at} s") <= width:
            line = f"{line:<{left}}{at} s"
    return line
