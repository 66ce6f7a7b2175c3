"""The metrics that a controller and a route server expose, as the text of a scrape in which every metric has samples.

The controller's text comes from its own registry. The route server's comes from the list of its metrics that its Go
test compares with a real scrape."""

from collections.abc import Mapping
from functools import cache
from itertools import product

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from controller.runtime.metrics import Metrics
from tests.house.imports import ROOT

GOLDEN = ROOT / "routeserver/internal/control/testdata/metrics.txt"
"""A line for each metric of the route server: name, type and labels, and after a tab its help."""

VALUES: Mapping[str, tuple[str, ...]] = {"state": ("done", "undone", "possible", "up"), "status": ("200", "503")}
"""The values of labels that queries ask for; the name stands for the value of any other label."""

BUCKETS = ("0.1", "+Inf")


@cache
def controller() -> str:
    """Return a leading controller's exposition."""
    metrics = Metrics()
    for collector in list(metrics.registry._collector_to_names):
        assert isinstance(collector, MetricWrapperBase)
        for values in product(*(VALUES.get(label, (label,)) for label in collector._labelnames)):
            if values:
                collector.labels(*values)
    metrics.leading.set(1)
    return metrics.text().decode()


@cache
def route_server() -> str:
    """Return a route server's exposition."""
    lines: list[str] = []
    for name, kind, *labels in (line.partition("\t")[0].split() for line in GOLDEN.read_text().splitlines()):
        own = [f'{label}="{label}"' for label in labels]
        if kind == "histogram":
            lines += [_sample(f"{name}_bucket", [*own, f'le="{bound}"']) for bound in BUCKETS]
            lines += [_sample(f"{name}_sum", own), _sample(f"{name}_count", own)]
        else:
            lines.append(_sample(name, own))
    return "".join(lines)


def _sample(name: str, labels: list[str]) -> str:
    return f"{name}{{{','.join(labels)}}} 1\n"


@cache
def exposed() -> Mapping[str, frozenset[str]]:
    """Return the labels of all samples, by name."""
    families = [family for text in (controller(), route_server()) for family in text_string_to_metric_families(text)]
    return {sample.name: frozenset(sample.labels) for family in families for sample in family.samples}
