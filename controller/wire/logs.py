"""Log lines as Weft's programs write them: each event is one line, whatever characters names and texts from outside
have."""

import logging
import sys
import time
from types import TracebackType
from typing import TextIO

from controller.wire.repeats import Repeats

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

LONGEST = 8_000
"""Maximum number of characters of a line."""


def visible(text: str) -> str:
    """Return `text` with each unprintable character escaped, such as line ends and the control codes of terminals."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Lines(logging.Formatter):
    """Formats an event as one line. Lines that follow it, such as a traceback, begin with a bar, so none looks like an
    event."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return visible(super().formatMessage(record))[:LONGEST]

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "\n".join(f"  | {visible(line)[:LONGEST]}" for line in super().formatException(ei).split("\n"))


class Bounded(logging.StreamHandler[TextIO]):
    """Leaves out lines that repeat too often (`repeats.py`)."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._repeats = Repeats()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, preceded by the counts of lines that were left out."""
        for one in self._repeats.admit(record, time.monotonic()):
            super().emit(one)


def begin(level: int) -> None:
    """Start logging to standard error."""
    handler = Bounded(sys.stderr)
    handler.setFormatter(Lines(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
