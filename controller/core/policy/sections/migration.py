"""`migration`: thresholds of the decision to move a VM (Teka, section V), and settings of moves."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.cpu_choice import meant
from controller.core.policy.errors import PolicyError
from controller.core.policy.model import BandwidthLimit, Migration
from controller.core.policy.policy import Policy

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
    plain = {key: value for key, value in data.items() if key != "bandwidth"}
    values: dict[str, Any] = {key: value if key in _AS_THEY_ARE else float(value) for key, value in plain.items()}
    return Migration(**values, bandwidth=tuple(map(_limit, data.get("bandwidth", ()))))


def _limit(data: Mapping[str, Any]) -> BandwidthLimit:
    begins, _, ends = data.get("hours", "").partition("-")
    hours = (_minutes(begins), _minutes(ends)) if ends else None
    return BandwidthLimit(round(data["mbps"] * 1_000_000), data.get("from"), data.get("to"), hours)


def _minutes(time: str) -> int:
    return int(time[:2]) * 60 + int(time[3:])


def errors(policy: Policy) -> Iterator[PolicyError]:
    """Yield errors about thresholds in the wrong order, limits that never apply, and a CPU that is a misspelt word
    rather than a model."""
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
    if word := meant(migration.cpu):
        yield policy.error(
            ("migration", "cpu"), f"migration.cpu '{migration.cpu}' is not a CPU model: did you mean '{word}'?", word
        )
