"""Log lines as Weft's programs write them: each event is one line, whatever characters names and texts from outside
have. The lines are text for people, or JSON objects (`log_objects.py`) for programs that collect logs."""

import logging
import os
import sys
import time
from types import TracebackType
from typing import TextIO

from controller.wire.log_objects import Objects
from controller.wire.repeats import Repeats

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

LONGEST = 8_000
"""Maximum number of characters of a line."""

SETTING = "WEFT_LOG_FORMAT"
"""The environment variable that says which form the lines have."""

TEXT, JSON = "text", "json"


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
    """Start logging to standard error, in the form that the environment names."""
    handler = Bounded(sys.stderr)
    handler.setFormatter(Lines(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
    use(os.environ.get(SETTING) or TEXT)


def use(form: str, **fields: str) -> None:
    """Log in this form from now on: JSON for objects, each with these fields; anything else for text."""
    formatter = Objects(fields) if form == JSON else Lines(FORMAT)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Bounded):
            handler.setFormatter(formatter)
    sys.excepthook = _log_defect if form == JSON else sys.__excepthook__


def announce(program: str, text: str) -> None:
    """Tell on standard output what is no event of the log; as an object of the log if lines are objects."""
    if not _told(program, logging.INFO, text):
        print(f"{program}: {text}", flush=True)


def complain(program: str, text: str) -> None:
    """Tell on standard error why a program ends; as an object of the log if lines are objects."""
    if not _told(program, logging.CRITICAL, text):
        print(f"{program}: {text}", file=sys.stderr)


def _told(program: str, level: int, text: str) -> bool:
    """Write an object whatever the level of the log; return False if lines are text."""
    root = logging.getLogger()
    if not any(isinstance(handler.formatter, Objects) for handler in root.handlers):
        return False
    root.handle(logging.LogRecord(program, level, "", 0, "%s", (text,), None))
    return True


def _log_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log an error that nothing has caught, which the interpreter would print as lines of text."""
    logging.getLogger(__name__).critical("%s", kind.__name__, exc_info=(kind, error, trace))
