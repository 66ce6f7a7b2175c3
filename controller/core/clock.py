"""The current time, in the form in which it is stored."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)
