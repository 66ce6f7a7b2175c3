"""The rules are well-formed, pass their cases, and know the sample configuration and the route server's defaults."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.house.imports import ROOT
from tests.unit.monitoring.expression import uses
from tests.unit.monitoring.files import CASES, RULES, SCRAPES, alerts, queries, records

OF_AGENTS = "weft-cloudlet"
"""The job of the hosts' node_exporters, which may have another name: no rule names it."""

OPTIONS = ROOT / "routeserver/cmd/weft-routeserver/options.go"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="lab/provision installs Debian's package prometheus")
@pytest.mark.parametrize(
    ("words", "path"),
    [(("check", "rules"), RULES), (("test", "rules"), CASES), (("check", "config", "--syntax-only"), SCRAPES)],
    ids=("rules", "cases", "scrapes"),
)
def test_promtool_accepts(words: tuple[str, ...], path: Path) -> None:
    done = subprocess.run(["promtool", *words, path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", alerts())
def test_an_alert_says_how_grave_it_is_and_what_it_means(name: str) -> None:
    rule = alerts()[name]
    assert rule["labels"].keys() == {"severity"} and rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}


@pytest.mark.parametrize("name", alerts())
def test_an_alert_has_a_case_that_fires_and_one_that_does_not(name: str) -> None:
    tests = yaml.safe_load(CASES.read_text())["tests"]
    cases = [case for test in tests for case in test.get("alert_rule_test", [])]
    own = [case for case in cases if case["alertname"] == name]
    assert {bool(case.get("exp_alerts")) for case in own} == {True, False}


def test_every_recorded_metric_is_used() -> None:
    expressions = [*(rule["expr"] for rule in alerts().values()), *(query.expression for query in queries())]
    assert records().keys() <= {metric for expression in expressions for metric in uses(expression).matched}


def test_jobs_are_those_of_the_sample_configuration() -> None:
    scrapes = yaml.safe_load(SCRAPES.read_text())
    jobs = {scrape["job_name"] for scrape in scrapes["scrape_configs"]}
    texts = [RULES.read_text(), *(query.expression for query in queries())]
    named = {job for text in texts for job in re.findall(r'job="([^"]+)"', text)}
    assert named == jobs - {OF_AGENTS}
    assert scrapes["rule_files"] == [RULES.relative_to(SCRAPES.parent).as_posix()]


@pytest.mark.parametrize(("option", "what"), [("max-routes", "routes"), ("max-bytes", "bytes")])
def test_shares_are_of_the_route_servers_defaults(option: str, what: str) -> None:
    found = re.search(rf'"{option}", (\d+)(?:<<(\d+))?,', OPTIONS.read_text())
    assert found is not None
    default = int(found[1]) << int(found[2] or 0)
    assert records()[f"region_instance_peer:weft_routeserver_{what}:share"].endswith(f" / {default}")
