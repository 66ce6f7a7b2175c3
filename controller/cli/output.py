"""What commands print: tables, records, sentences, and JSON for programs."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from controller.cli import layout, terminal
from controller.cli.cells import Get, Row, StateWord, Title, Tone, at, plain
from controller.cli.session import session
from controller.wire.logs import visible

Column = tuple[str, Get]
CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What `json.dumps` leaves of control characters: C1, and those that change the direction of text."""


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
    """A table, or what becomes of it where it does not fit (`layout.py`)."""
    terminal.show(layout.as_table(titles, [[plain(cell) for cell in line] for line in lines], terminal.room()))


def card(thing: Row, columns: Sequence[Column]) -> None:
    """One thing, a line per property."""
    if session.json:
        emit(thing)
        return
    titles = [title.lower() for title, _ in columns]
    terminal.show(layout.as_record(titles, [plain(get(thing)) for _, get in columns], terminal.room()))


def say(*lines: str) -> None:
    """Sentences, at once: what is followed may be read by a program. A sign that one begins with is coloured."""
    terminal.show(terminal.signed(visible(part)) for line in lines for part in line.split("\n"))


def complain(*lines: str) -> None:
    """Failures, on standard error: the first line with the program's name, others set in or, of a diff, as they are."""
    first, *more = [visible(part) for line in lines or ("",) for part in line.split("\n")]
    terminal.show(
        [(StateWord(f"{session.program}:", Tone.ALARM), " ", first), *map(terminal.differing, more)], sys.stderr
    )


def difference(text: str) -> None:
    """A unified diff."""
    terminal.show(terminal.differing(visible(line)) for line in text.splitlines())


def located(place: str, kind: str, message: str, line: str | None = None, column: int = 1) -> None:
    """Something about a text, on standard error, as compilers do it: file:line:column, the line, and a caret."""
    tone = Tone.WARNING if kind else Tone.ALARM
    terminal.show([(Title(place), " ", StateWord(kind, tone), message)], sys.stderr)
    if line is not None:
        terminal.show([("  ", line), ("  ", " " * (column - 1), StateWord("^", tone))], sys.stderr)


def done(thing: object, *lines: str) -> None:
    """The answer to a change: the document for programs, a sentence for people."""
    if session.json:
        emit({} if thing is None else thing)
    else:
        say(*lines)


def when(*keys: str) -> Get:
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
