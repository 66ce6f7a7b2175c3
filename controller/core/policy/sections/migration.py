"""`migration`: thresholds of the decision to move a VM (Teka, section V), and settings of moves."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from controller.core.cpu_choice import meant
from controller.core.policy.model import BandwidthLimit, Migration, OnVerdict, ScheduledMoves
from controller.core.policy.policy import Policy
from controller.core.recurrence import upcoming
from controller.core.yaml_document.errors import DocumentError

_ANY = datetime(2026, 1, 1, tzinfo=UTC)
_AS_THEY_ARE = (
    "moves_per_link",
    "moves_per_cloudlet",
    "downtime_ms",
    "compression",
    "post_copy",
    "keep_seconds",
    "keep_bytes",
    "mirror_bytes",
    "cpu",
)


def read(data: Mapping[str, Any]) -> Migration:
    """Return the section; `data` is valid by the schema."""
    plain = {key: value for key, value in data.items() if key not in ("bandwidth", "schedule", "on_verdict")}
    values: dict[str, Any] = {key: value if key in _AS_THEY_ARE else float(value) for key, value in plain.items()}
    limits, schedule = map(_limit, data.get("bandwidth", ())), map(_moves, data.get("schedule", ()))
    verdict = OnVerdict(data.get("on_verdict", Migration.on_verdict))
    return Migration(**values, on_verdict=verdict, bandwidth=tuple(limits), schedule=tuple(schedule))


def _moves(data: Mapping[str, Any]) -> ScheduledMoves:
    return ScheduledMoves(
        tuple(data["vms"]), data["endpoint"], data["cron"], data.get("keep", False), data.get("copied_before", 0)
    )


def _limit(data: Mapping[str, Any]) -> BandwidthLimit:
    begins, _, ends = data.get("hours", "").partition("-")
    hours = (_minutes(begins), _minutes(ends)) if ends else None
    return BandwidthLimit(round(data["mbps"] * 1_000_000), data.get("from"), data.get("to"), hours)


def _minutes(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about thresholds in the wrong order, limits that never apply, times that never come, and a CPU that
    is a misspelt word rather than a model."""
    migration = policy.rules.migration
    if migration.max_rtt_ms < migration.rtt_ms:
        yield policy.order("migration", "max_rtt_ms", migration.max_rtt_ms, "rtt_ms", migration.rtt_ms)
    for i, limit in enumerate(migration.bandwidth):
        path = ("migration", "bandwidth", i)
        if limit.hours is not None and limit.hours[0] == limit.hours[1]:
            text = f"hours '{policy.at(path)['hours']}' end when they begin; leave `hours` out for the whole day"
            yield policy.error((*path, "hours"), text)
        if limit.source is not None and limit.source == limit.destination:
            yield policy.error((*path, "to"), f"no move goes from {limit.source} to {limit.source}")
    for i, one in enumerate(migration.schedule):
        if reason := _never(one.cron):
            yield policy.error(("migration", "schedule", i, "cron"), f"cron '{one.cron}': {reason}")
    if migration.keep_seconds == 0:
        for i, one in enumerate(migration.schedule):
            if one.copied_before:
                text = "nothing would be kept of the copies: migration.keep_seconds is 0"
                yield policy.error(("migration", "schedule", i, "copied_before"), text)
    if word := meant(migration.cpu):
        yield policy.error(
            ("migration", "cpu"), f"migration.cpu '{migration.cpu}' is not a CPU model: did you mean '{word}'?", word
        )


def _never(cron: str) -> str:
    """Return why these fields name no time; empty if they name one."""
    try:
        return "" if upcoming(cron, _ANY) else "no such time comes within 50 years"
    except ValueError as error:
        return str(error)
