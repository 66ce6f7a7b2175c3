"""Counters whose series begin with 0. Prometheus' `increase()` sees nothing in a series that begins with its first
event, so an alert would miss that event."""

from collections.abc import Iterable
from itertools import product

from prometheus_client import CollectorRegistry, Counter


def counter(registry: CollectorRegistry, name: str, meaning: str, **labels: Iterable[str]) -> Counter:
    """Return a counter with these labels. Each combination of their known values is there from the start."""
    made = Counter(name, meaning, list(labels), registry=registry)
    for values in product(*labels.values()):
        if values:
            made.labels(*values)
    return made
