"""The door to cronsim: when a time that recurs comes next. Times are in UTC. Pure."""

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError


def upcoming(cron: str, after: datetime) -> datetime | None:
    """Return the first time after `after` that the five fields name (crontab(5)); None if there is none within 50
    years. Raises ValueError, with the reason, for fields that mean nothing."""
    if len(cron.split()) != 5:
        raise ValueError("it has not five fields: minute, hour, day of the month, month, day of the week")
    try:
        found: datetime = next(CronSim(cron, after.astimezone(UTC)))
    except CronSimError as error:
        raise ValueError(str(error)) from None
    except StopIteration:
        return None
    return found
