"""The output of commands: tables, records, sentences, and other forms for programs."""

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from controller.cli import layout, terminal
from controller.cli.cells import NOTHING, Get, Row, StateWord, Title, Tone, at, plain
from controller.cli.documents import emit
from controller.cli.failures import WrongUsage
from controller.cli.session import Output, session
from controller.wire.logs import visible

Column = tuple[str, Get]


def rows(items: Iterable[Row], columns: Sequence[Column], none: str) -> None:
    """Print a list of objects; prints `none` to users if there are none. Raises WrongUsage for a column that there is
    not."""
    found, columns = list(items), _chosen(columns)
    if session.documents:
        emit(found)
    elif session.output in (Output.CSV, Output.NAME):
        _lines(found, columns)
    elif found:
        table([title for title, _ in columns], [[get(row) for _, get in columns] for row in found])
    else:
        say(none)


def table(titles: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """Print a table, or the layout that replaces it if it does not fit (`layout.py`)."""
    terminal.show(layout.as_table(titles, [[plain(cell) for cell in line] for line in lines], terminal.room()))


def card(thing: Row, columns: Sequence[Column]) -> None:
    """Print one object, a line per property. Raises WrongUsage like `rows`."""
    columns = _chosen(columns)
    if session.documents:
        emit(thing)
    elif session.output in (Output.CSV, Output.NAME):
        _lines([thing], columns)
    else:
        titles = [title.lower() for title, _ in columns]
        terminal.show(layout.as_record(titles, [plain(get(thing)) for _, get in columns], terminal.room()))


def _chosen(columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns that the user wants, in that order."""
    known = {title.lower(): (title, get) for title, get in columns}
    for name in session.columns:
        if name.lower() not in known:
            raise WrongUsage(f"--columns {name!r}: there are {', '.join(title for title, _ in columns)}")
    return [known[name.lower()] for name in session.columns] or columns


def _lines(found: Sequence[Row], columns: Sequence[Column]) -> None:
    """Print CSV (RFC 4180) with a line of titles, or the first column alone."""
    if session.output is Output.NAME:
        say(*(plain(columns[0][1](row)) for row in found))
        return
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    write([title for title, _ in columns])
    for row in found:
        cells = [plain(get(row)) for _, get in columns]
        write(["" if cell == NOTHING else cell for cell in cells])


def say(*lines: str) -> None:
    """Print sentences at once, because a program may read a stream. A sign at the start of a line is coloured."""
    terminal.show(terminal.signed(visible(part)) for line in lines for part in line.split("\n"))


def complain(*lines: str) -> None:
    """Print failures on standard error: the first line with the program's name, other lines indented, lines of a diff
    as they are."""
    first, *more = [visible(part) for line in lines or ("",) for part in line.split("\n")]
    terminal.show(
        [(StateWord(f"{session.program}:", Tone.ALARM), " ", first), *map(terminal.differing, more)], sys.stderr
    )


def difference(text: str) -> None:
    """Print a unified diff."""
    terminal.show(terminal.differing(visible(line)) for line in text.splitlines())


def located(place: str, kind: str, message: str, line: str | None = None, column: int = 1) -> None:
    """Print a message about a text on standard error, as compilers do: file:line:column, the line, and a caret."""
    tone = Tone.WARNING if kind else Tone.ALARM
    terminal.show([(Title(place), " ", StateWord(kind, tone), message)], sys.stderr)
    if line is not None:
        terminal.show([("  ", line), ("  ", " " * (column - 1), StateWord("^", tone))], sys.stderr)


def done(thing: object, *lines: str) -> None:
    """Print the answer to a change: the document for programs, sentences for users."""
    if session.documents:
        emit({} if thing is None else thing)
    else:
        say(*lines)


def when(*keys: str) -> Get:
    """Return a function that gets the time below `keys` in readable form, and as it is for CSV."""
    get = at(*keys)
    return lambda row: get(row) if session.output is Output.CSV else relative(get(row))


def relative(time: object, now: datetime | None = None) -> str:
    """Return a time as `12 s ago` or `in 55 min`; a value that is no time (ISO 8601, or seconds since the epoch) stays
    as it is."""
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
    """Return a duration such as `0.42 ms`, `84 ms` or `1,204 ms`."""
    if not isinstance(value, int | float):
        return "-"
    return f"{value:.2f} ms" if value < 10 else f"{value:,.0f} ms"
