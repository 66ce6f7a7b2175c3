"""The layout of rows: a table if it fits, else a record for each row. No value is cut or split: only texts are folded
between words, and lists between items. A line is a sequence of cells and blanks."""

from collections.abc import Sequence
from itertools import zip_longest

from controller.cli.cells import NOTHING, Items, Prose, Title
from controller.cli.terminal import width_of

Cells = Sequence[str]
Line = Sequence[str]
GAP = 2
"""Columns between two cells."""

LEAST = 20
"""Minimum columns of a folded text: it is not readable in fewer."""


def as_table(titles: Sequence[str], rows: Sequence[Cells], room: int | None) -> list[Line]:
    """Return a line for each row if all columns fit into `room` (None: any number fits). Otherwise, leave out columns
    that are empty in all rows; if that is too wide, fold texts and lists; if that is too wide, return a record for each
    row."""
    widths = _widths(titles, rows)
    if room is None or _total(widths) <= room:
        return _table(titles, rows, widths)
    some = [place for place in range(len(titles)) if any(row[place] != NOTHING for row in rows)] or [0]
    titles, rows = [titles[place] for place in some], [[row[place] for place in some] for row in rows]
    widths = _widths(titles, rows)
    least = [_least(title, [row[place] for row in rows]) for place, title in enumerate(titles)]
    if (spare := room - _total(least)) < 0:
        return _records(titles, rows, room)
    return _table(titles, rows, _grown(least, widths, spare))


def as_record(titles: Sequence[str], cells: Cells, room: int | None) -> list[Line]:
    """Return a line for each property, or more if a text or a list is folded."""
    label = max(map(width_of, titles))
    left = None if room is None else max(room - label - GAP, LEAST)
    return [
        (*_padded(Title(title if first else ""), label), part)
        for title, cell in zip(titles, cells, strict=True)
        for first, part in zip_longest([True], fold(cell, left))
    ]


def fold(cell: str, width: int | None) -> list[str]:
    """Return the parts of a cell, each at most `width` wide as far as the cell can be folded."""
    if width is None or width_of(cell) <= width or not isinstance(cell, Prose | Items):
        return [cell]
    lines: list[str] = []
    for part in _parts(cell):
        if lines and width_of(lines[-1]) + 1 + width_of(part) <= width:
            lines[-1] += " " + part
        else:
            lines.append(part)
    return lines


def _parts(cell: str) -> list[str]:
    if isinstance(cell, Items):
        *most, last = cell.split(", ")
        return [*(f"{one}," for one in most), last]
    return cell.split() if isinstance(cell, Prose) else [cell]


def _records(titles: Sequence[str], rows: Sequence[Cells], room: int) -> list[Line]:
    lines = [line for row in rows for line in ((), *as_record(titles, row, room))]
    return lines[1:]


def _table(titles: Sequence[str], rows: Sequence[Cells], widths: Sequence[int]) -> list[Line]:
    lines: list[Line] = []
    for row in ([Title(title) for title in titles], *rows):
        parts = [fold(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            cells = [piece for part, width in zip(line, widths, strict=True) for piece in _padded(part, width)]
            while cells and not cells[-1].strip():
                cells.pop()
            lines.append(cells)
    return lines


def _padded(cell: str, width: int) -> tuple[str, str]:
    return cell, " " * (width - width_of(cell) + GAP)


def _widths(titles: Sequence[str], rows: Sequence[Cells]) -> list[int]:
    return [max(map(width_of, column)) for column in zip(titles, *rows, strict=True)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _least(title: str, column: Cells) -> int:
    """Return the minimum width of a column."""
    widest = max(map(width_of, (title, *column)))
    longest = max(width_of(part) for cell in (title, *column) for part in _parts(cell))
    return max(longest, min(widest, LEAST))


def _grown(least: Sequence[int], widest: Sequence[int], spare: int) -> list[int]:
    """Return widths with `spare` more columns in all, given to columns that would be folded."""
    grown = list(least)
    wanting = sorted((wide - narrow, place) for place, (narrow, wide) in enumerate(zip(least, widest, strict=True)))
    for left, (need, place) in zip(range(len(wanting), 0, -1), wanting, strict=True):
        more = min(need, spare // left)
        grown[place] += more
        spare -= more
    return grown
