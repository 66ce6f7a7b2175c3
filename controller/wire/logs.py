"""Log lines as Weft's programs write them: one event is one line, whatever stands in the names and texts of others."""

import logging
import sys
import time
from types import TracebackType
from typing import TextIO

from controller.wire.repeats import Repeats

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

LONGEST = 8_000
"""Characters of a line."""


def visible(text: str) -> str:
    """`text` without characters that a terminal obeys, or that end a line: their escapes stand for them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Lines(logging.Formatter):
    """What follows a line, such as a traceback, is set in by a bar: no line of it can be taken for an event."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return visible(super().formatMessage(record))[:LONGEST]

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(f"  | {visible(line)[:LONGEST]}" for line in super().formatException(ei).split("\n"))


class Bounded(logging.StreamHandler[TextIO]):
    """Leaves out what is said too often (`repeats.py`)."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._repeats = Repeats()

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line, and how many were left out before."""
        for one in self._repeats.admit(record, time.monotonic()):
            super().emit(one)


def begin(level: int) -> None:
    """Logs to standard error from now on."""
    handler = Bounded(sys.stderr)
    handler.setFormatter(Lines(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
