"""Log lines as JSON objects, one for each event: `time` (RFC 3339, UTC), `level`, `logger`, `message`, the fields of
`log_fields.py`, and `traceback` where there is one."""

import json
import logging
from datetime import UTC, datetime

from controller.wire.log_fields import Fields, fields

LONGEST = 8_000
"""Maximum number of characters of a message."""

LONGEST_TRACEBACK = 32_000
"""Maximum number of characters of a traceback; the last ones name the error."""

LONGEST_FIELD = 1_000


class Objects(logging.Formatter):
    """Formats an event as an object in ASCII: every other character is escaped, so that an object is one line and
    controls no terminal. `constant` fields are the same in all lines."""

    def __init__(self, constant: Fields) -> None:
        super().__init__()
        self._constant = constant

    def format(self, record: logging.LogRecord) -> str:
        own: Fields = getattr(record, "fields", None) or fields()
        line: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")[:-6] + "Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record)[:LONGEST],
        }
        for name, value in {**self._constant, **own}.items():
            line.setdefault(name, value[:LONGEST_FIELD] if isinstance(value, str) else value)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)[-LONGEST_TRACEBACK:]
        return json.dumps(line).replace("\x7f", "\\u007f")


def _message(record: logging.LogRecord) -> str:
    """Return the message; if its values do not fit its format, the format, because logging's own complaint is no
    object."""
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        return str(record.msg)
