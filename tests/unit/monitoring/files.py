"""The files of `deploy/monitoring`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tests.house.imports import ROOT

MONITORING = ROOT / "deploy/monitoring"
RULES = MONITORING / "rules/weft.yaml"
CASES = MONITORING / "rules/weft.test.yaml"
SCRAPES = MONITORING / "prometheus.yaml"
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))


@dataclass(frozen=True)
class Query:
    """A query of a panel; `where` names the panel."""

    where: str
    expression: str
    legend: str

    @property
    def now(self) -> str:
        """The query as Grafana sends it when all regions are chosen."""
        return self.expression.replace("$region", ".*").replace("$__rate_interval", "1m")


def rules() -> list[dict[str, Any]]:
    """Return all rules, in order."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    """Return the alerting rules by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def records() -> dict[str, str]:
    """Return the expressions of the recording rules by name."""
    return {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}


def queries() -> Iterator[Query]:
    """Yield the queries of all dashboards."""
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield Query(f"{path.stem}: {panel['title']}", target["expr"], target["legendFormat"])
