"""Times as users write them: a moment, an age, or a span from now."""

import re
from datetime import UTC, datetime, timedelta

from controller.cli.failures import WrongUsage

UNITS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
HELP = "A time (ISO 8601, UTC), or how long ago: 90min, 6h, 30d."


def moment(option: str, text: str | None) -> str | None:
    """Return a time in the controller's form, from an age such as `2h` or an ISO 8601 time. Raises WrongUsage, which
    names the option."""
    return None if text is None else _time(option, text, -1, "how long ago")


def coming(option: str, text: str) -> str:
    """Return the same as `moment`, where `2h` is in two hours."""
    return _time(option, text, 1, "how long from now")


def _time(option: str, text: str, direction: int, span: str) -> str:
    if found := re.fullmatch(r"(\d{1,6})\s*(s|min|m|h|d)", text.strip()):
        try:
            return (datetime.now(UTC) + direction * timedelta(seconds=int(found[1]) * UNITS[found[2]])).isoformat()
        except OverflowError:
            raise WrongUsage(f"{option} {text!r}: that is outside the years 1 to 9999") from None
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise WrongUsage(f"{option} {text!r}: a time such as 2026-01-31T12:00, or {span}, such as 6h") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
