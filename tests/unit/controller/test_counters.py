"""Labelled counters begin with 0, so that alerts count their first event."""

from itertools import product
from typing import get_args

from prometheus_client import Counter

from controller.core.sighting_evidence import Worth
from controller.runtime.metrics import Metrics
from controller.runtime.move_metrics import ENDS, MoveMetrics
from controller.wire.moves import Figures, Pages
from controller.wire.sightings import How
from tests.unit.controller.conftest import Start

UNKNOWN = {"weft_http_requests", "weft_webhooks_sent", "weft_webhooks_failed"}
"""Counters whose labels' values are known only with the API's routes, or with the receivers of webhooks."""

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(metrics: Metrics) -> Series:
    """Return the values of all counters by name and labels."""
    samples = (s for family in metrics.registry.collect() if family.type == "counter" for s in family.samples)
    return {(s.name, frozenset(s.labels.items())): s.value for s in samples if s.name.endswith("_total")}


def test_every_labelled_counter_begins_with_zero() -> None:
    metrics = Metrics()
    names = {name for name, _ in series(metrics)}
    counters = [c for c in metrics.registry._collector_to_names if isinstance(c, Counter)]
    assert {f"{c._name}_total" for c in counters if c._name not in UNKNOWN} == names
    assert set(series(metrics).values()) == {0.0}


def test_counting_adds_no_series() -> None:
    metrics = Metrics()
    before = series(metrics).keys()
    moves: MoveMetrics = metrics.moves
    pages = Pages(zero=1, same=1, known=1, delta=1, literal=1, repeats=1, kept=True)
    for state in ENDS:
        moves.ended(state, 1.0, {"disk": Figures(pages=pages), "memory": Figures(pages=pages)})
    for how, worth in product(get_args(How), Worth):
        metrics.sightings.labels(how, worth).inc()
    after = series(metrics)
    assert after.keys() == before
    assert after["weft_sightings_total", frozenset({("how", "packet"), ("worth", "spoofed")})] == 1


async def test_failures_of_requests_begin_with_zero(start: Start) -> None:
    async with start() as controller:
        text = (await controller.http.get("/metrics")).text
        for route, status in (("/api/v1/vcps", 500), ("/api/v1/vcps/{name}", 503), ("/api/v1/routes", 502)):
            assert f'weft_http_requests_total{{method="GET",route="{route}",status="{status}"}} 0.0' in text
        assert 'route="/api/v1/vcps",status="502"' not in text
