"""The time, as all that is written down has it."""

from datetime import UTC, datetime


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
