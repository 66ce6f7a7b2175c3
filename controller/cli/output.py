"""What commands print. The only file that imports Rich; it is imported when there is something to print."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from controller.cli.session import session
from controller.wire.logs import visible

if TYPE_CHECKING:
    from rich.console import Console

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], object]]
CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What `json.dumps` leaves of control characters: C1, and those that change the direction of text."""

WIDE = 200
"""Columns when nobody looks: what is piped is not cut to a terminal's width."""


def console() -> "Console":
    """Standard output, without markup: data is printed as it is."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or WIDE)
    return Console(markup=False, highlight=False, emoji=False, width=width, soft_wrap=False)


def plain(value: object) -> str:
    """A value as a cell: `-` for nothing, lists with commas, and no control characters (names and texts come from
    elsewhere, and a terminal obeys some of them)."""
    if value is None or value == "" or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={plain(value[key])}" for key in value) or "-"
    return visible(str(value))


def emit(value: object) -> None:
    """JSON for programs; what a terminal would obey is escaped, as JSON has it."""
    print(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, indent=2, ensure_ascii=False)))


def rows(items: Iterable[Row], columns: Sequence[Column], none: str) -> None:
    """A list of things; `none` is said when there are none."""
    found = list(items)
    if session.json:
        emit(found)
    elif found:
        table([title for title, _ in columns], [[get(row) for _, get in columns] for row in found])
    else:
        say(none)


def table(titles: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """A compact table; long cells fold."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        grid.add_column(title, overflow="fold")
    for line in lines:
        grid.add_row(*map(plain, line))
    console().print(grid)


def card(thing: Row, columns: Sequence[Column]) -> None:
    """One thing, a line per property."""
    if session.json:
        emit(thing)
        return
    from rich.table import Table

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for title, get in columns:
        grid.add_row(title.lower(), plain(get(thing)))
    console().print(grid)


def say(*lines: str) -> None:
    """Sentences, at once: what is followed may be read by a program."""
    for line in lines:
        print("\n".join(map(visible, line.split("\n"))), flush=True)


def done(thing: object, *lines: str) -> None:
    """The answer to a change: the document for programs, a sentence for people."""
    if session.json:
        emit({} if thing is None else thing)
    else:
        say(*lines)


def at(*keys: str) -> Callable[[Row], object]:
    """The value below `keys`, None where there is none."""

    def get(row: Row) -> object:
        value: Any = row
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return get


def when(*keys: str) -> Callable[[Row], object]:
    """The time below `keys`, as people say it."""
    get = at(*keys)
    return lambda row: relative(get(row))


def relative(time: object, now: datetime | None = None) -> str:
    """`12 s ago`, `in 55 min`; what is not a time (ISO 8601, or seconds since the epoch) stays as it is."""
    try:
        if isinstance(time, int | float):
            moment = datetime.fromtimestamp(time, UTC)
        else:
            moment = datetime.fromisoformat(str(time))
    except (ValueError, OverflowError, OSError):
        return plain(time)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = round((moment - (now or datetime.now(UTC))).total_seconds())
    size = abs(seconds)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if size >= 2 * length:
            amount = f"{size // length} {unit}"
            break
    else:
        amount = f"{size} s"
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def milliseconds(value: object) -> str:
    """`0.42 ms`, `84 ms`, `1,204 ms`."""
    if not isinstance(value, int | float):
        return "-"
    return f"{value:.2f} ms" if value < 10 else f"{value:,.0f} ms"
