"""The dashboards are those that Grafana can provision: stable identifiers, a data source to choose, no overlaps."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.monitoring.files import DASHBOARDS, MONITORING

WIDTH = 24
"""Columns of Grafana's grid."""


def dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_the_dashboards_are_there() -> None:
    assert [path.stem for path in DASHBOARDS] == ["cloudlets", "moves", "region", "routeservers"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_has_a_stable_identifier_and_chooses_its_data_source(path: Path) -> None:
    found = dashboard(path)
    assert found["uid"] == f"weft-{path.stem}" and "id" not in found
    variables = {variable["name"]: variable for variable in found["templating"]["list"]}
    assert variables["datasource"]["query"] == "prometheus"
    for part in (*found["panels"], variables["region"]):
        assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_differ_and_do_not_overlap(path: Path) -> None:
    panels = dashboard(path)["panels"]
    for key in ("id", "title"):
        assert len({panel[key] for panel in panels}) == len(panels), key
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] >= 0 and at["y"] >= 0 and at["w"] > 0 and at["h"] > 0 and at["x"] + at["w"] <= WIDTH
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
    for one, other in combinations(panels, 2):
        assert not overlap(one["gridPos"], other["gridPos"]), f"{one['title']} and {other['title']}"


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(one[at] < other[at] + other[of] and other[at] < one[at] + one[of] for at, of in (("x", "w"), ("y", "h")))


def test_queries_keep_to_the_chosen_region() -> None:
    for path in DASHBOARDS:
        for panel in dashboard(path)["panels"]:
            for target in panel["targets"]:
                expression = target["expr"]
                assert expression.count("{") == expression.count('region=~"$region"') > 0, panel["title"]


def test_the_provisioning_sample_is_what_grafana_reads() -> None:
    read = {path.parent.name: yaml.safe_load(path.read_text()) for path in MONITORING.glob("provisioning/*/weft.yaml")}
    assert {kind: found["apiVersion"] for kind, found in read.items()} == {"dashboards": 1, "datasources": 1}
    [source], [provider] = read["datasources"]["datasources"], read["dashboards"]["providers"]
    assert source["type"] == "prometheus" and provider["type"] == "file" and provider["options"]["path"]
