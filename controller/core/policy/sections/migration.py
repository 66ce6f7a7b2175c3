"""`migration`: thresholds of the decision to move a VM (Teka, section V), and settings of moves."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.cpu_choice import meant
from controller.core.policy.errors import PolicyError
from controller.core.policy.model import Migration
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
    values: dict[str, Any] = {key: value if key in _AS_THEY_ARE else float(value) for key, value in data.items()}
    return Migration(**values)


def errors(policy: Policy) -> Iterator[PolicyError]:
    """Yield errors about thresholds in the wrong order, and a CPU that is a misspelt word rather than a model."""
    migration = policy.rules.migration
    if migration.max_rtt_ms < migration.rtt_ms:
        yield policy.order("migration", "max_rtt_ms", migration.max_rtt_ms, "rtt_ms", migration.rtt_ms)
    if word := meant(migration.cpu):
        yield policy.error(
            ("migration", "cpu"), f"migration.cpu '{migration.cpu}' is not a CPU model: did you mean '{word}'?", word
        )
