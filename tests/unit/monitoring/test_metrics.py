"""Rules and dashboards use metrics that the code exposes, with labels that those have."""

import re

import pytest

from tests.unit.monitoring.exposition import exposed
from tests.unit.monitoring.expression import Uses, uses
from tests.unit.monitoring.files import alerts, queries, records

TARGET = frozenset(("job", "instance", "region"))
"""The labels that Prometheus gives each sample."""

EXPRESSIONS = [
    *((f"alert {name}", rule["expr"]) for name, rule in alerts().items()),
    *((f"record {name}", expression) for name, expression in records().items()),
    *((query.where, query.expression) for query in queries()),
]


def labels(metric: str) -> frozenset[str]:
    """Return the labels of a metric. The first part of a recorded metric's name has its labels."""
    if metric in records():
        return frozenset(metric.split(":")[0].split("_"))
    return TARGET if metric == "up" else exposed()[metric] | TARGET


def known(expression: str) -> frozenset[str]:
    """Return the labels of all metrics of an expression."""
    return frozenset[str]().union(*map(labels, uses(expression).matched))


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_expressions_name_metrics_and_labels_that_exist(where: str, expression: str) -> None:
    used = uses(expression)
    assert used.matched, where
    missing = used.matched.keys() - exposed().keys() - records().keys() - {"up"}
    assert not missing, f"{where} uses metrics that are not exposed"
    for metric, matched in used.matched.items():
        assert matched <= labels(metric), f"{where}: {metric}"
    assert used.grouped <= known(expression), where


@pytest.mark.parametrize("name", records())
def test_the_name_of_a_recorded_metric_has_its_labels(name: str) -> None:
    [*by] = re.findall(r"\bby \(([^)]*)\)", records()[name])
    assert by
    for clause in by:
        assert {label.strip() for label in clause.split(",")} - {"le"} == labels(name)


@pytest.mark.parametrize("name", alerts())
def test_annotations_name_labels_that_exist(name: str) -> None:
    rule = alerts()[name]
    said = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["description"]))
    assert "region" in said and said <= known(rule["expr"])


def test_legends_name_labels_that_exist() -> None:
    for query in queries():
        assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= known(query.expression), query.where


def test_every_metric_that_a_dashboard_could_show_is_known_by_its_real_name() -> None:
    names = exposed()
    assert names["weft_moves_ended_total"] == {"state"} and names["weft_change_seconds_bucket"] == {"le"}
    assert names["weft_generation"] == frozenset()
    assert names["weft_routeserver_peer_routes_in"] == {"peer", "family"}


def test_an_expression_is_taken_apart() -> None:
    expression = 'sum by (a, b) (rate(x_total{c=~"d|{e}",f!="g"}[5m])) / on (h) group_left () y offset 1m > 0.5'
    assert uses(expression) == Uses({"x_total": frozenset("cf"), "y": frozenset()}, frozenset("abh"))
    assert uses('topk(10, r:x:y{z="1"}) or vector(0) and (u == 1)').matched.keys() == {"r:x:y", "u"}
