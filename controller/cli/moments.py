"""Times as users write them: a moment, or an age."""

import re
from datetime import UTC, datetime, timedelta

from controller.cli.failures import WrongUsage

UNITS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
HELP = "A time (ISO 8601, UTC), or how long ago: 90min, 6h, 30d."


def moment(option: str, text: str | None) -> str | None:
    """Return a time in the controller's form, from an age such as `2h` or an ISO 8601 time. Raises WrongUsage, which
    names the option."""
    if text is None:
        return None
    if ago := re.fullmatch(r"(\d{1,6})\s*(s|min|m|h|d)", text.strip()):
        try:
            return (datetime.now(UTC) - timedelta(seconds=int(ago[1]) * UNITS[ago[2]])).isoformat()
        except OverflowError:
            raise WrongUsage(f"{option} {text!r}: that is before the year 1") from None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise WrongUsage(f"{option} {text!r}: a time such as 2026-01-31T12:00, or how long ago, such as 6h") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()
