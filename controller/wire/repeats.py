"""A limit on log lines of one kind, so that nobody outside can fill the log or push other lines out of it. Pure."""

import logging
from collections import Counter

WINDOW = 60.0
"""Seconds of a window, in which lines are counted together."""

OF_SOURCE, OF_KIND = 20, 200
"""Maximum lines of one kind in a window: of one source, which is the first argument of a line, and of all sources."""

KINDS = 1000
"""Maximum kinds that are counted separately in a window. The programs have fewer, unless somebody makes texts up."""

Kind = tuple[str, str]
"""A logger's name, and the line's format without its values."""


class Repeats:
    """Counts lines by kind and source. Critical ones are always written."""

    def __init__(self) -> None:
        self._since, self._kinds = float("-inf"), 0
        self._lines: Counter[tuple[str, ...]] = Counter()
        self._left_out: Counter[Kind] = Counter()

    def admit(self, record: logging.LogRecord, now: float) -> list[logging.LogRecord]:
        """Return the lines to write for `record` at `now`, in seconds of any steady clock: the counts of lines left out
        in the window before, and `record` itself if it is within the limit."""
        found = self._turn(now) if now - self._since >= WINDOW else []
        kind = record.name, str(record.msg)[:200]
        if kind not in self._lines and self._kinds >= KINDS:
            kind = record.name[:100], "(of any kind)"
        source = str(record.args[0])[:100] if isinstance(record.args, tuple) and record.args else ""
        few = self._lines[kind] < OF_KIND and self._lines[*kind, source] < OF_SOURCE
        self._kinds += kind not in self._lines
        if few or record.levelno >= logging.CRITICAL:
            self._lines[kind] += 1
            self._lines[*kind, source] += 1
            return [*found, record]
        self._left_out[kind] += 1
        return found

    def _turn(self, now: float) -> list[logging.LogRecord]:
        left_out = self._left_out
        self._since, self._kinds, self._lines, self._left_out = now, 0, Counter(), Counter()
        return [_told(name, line, number) for (name, line), number in left_out.items()]


def _told(name: str, line: str, number: int) -> logging.LogRecord:
    text = "%d more lines like this were left out within a minute: %s"
    record = logging.LogRecord(name, logging.WARNING, "", 0, text, (number, line), None)
    record.fields = {"left_out": number}  # and none of the line that it stands before
    return record
