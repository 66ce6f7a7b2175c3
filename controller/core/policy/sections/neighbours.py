"""`neighbours`: thresholds of the possible-neighbour database."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.policy.model import Neighbours
from controller.core.policy.policy import Policy
from controller.core.yaml_document.errors import DocumentError

_WHOLE = ("echoes", "stale_intervals")


def read(data: Mapping[str, Any]) -> Neighbours:
    """Return the section; `data` is valid by the schema."""
    values: dict[str, Any] = {key: int(value) if key in _WHOLE else float(value) for key, value in data.items()}
    return Neighbours(**values)


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about thresholds in the wrong order."""
    neighbours = policy.rules.neighbours
    if neighbours.keep_rtt_ms < neighbours.rtt_ms:
        yield policy.order("neighbours", "keep_rtt_ms", neighbours.keep_rtt_ms, "rtt_ms", neighbours.rtt_ms)
