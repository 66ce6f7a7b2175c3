"""The sample configuration of Alertmanager is well-formed, routes every alert, and names alerts that exist."""

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from tests.unit.monitoring.files import MONITORING, SCRAPES, alerts

PATH = MONITORING / "alertmanager.yaml"
FOUND: dict[str, Any] = yaml.safe_load(PATH.read_text())
MATCHER = re.compile(r'^(\w+)(=~|!~|!=|=)"([^"]*)"$')


def matches(matchers: list[str], labels: dict[str, str]) -> bool:
    """Return whether labels fit all matchers, as Alertmanager compares them."""
    for text in matchers:
        found = MATCHER.match(text)
        assert found is not None, text
        name, sign, wanted = found.groups()
        value = labels.get(name, "")
        fits = re.fullmatch(wanted, value) is not None if "~" in sign else value == wanted
        if fits == sign.startswith("!"):
            return False
    return True


def receiver(labels: dict[str, str]) -> str:
    """Return the receiver of an alert: of the first route that fits, else of the root."""
    for route in FOUND["route"]["routes"]:
        if matches(route["matchers"], labels):
            return str(route["receiver"])
    return str(FOUND["route"]["receiver"])


@pytest.mark.skipif(
    shutil.which("amtool") is None,
    reason="Debian's package prometheus-alertmanager, which lab/provision does not install, has amtool",
)
def test_amtool_accepts() -> None:
    done = subprocess.run(["amtool", "check-config", PATH], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_keys_are_those_that_alertmanager_knows() -> None:
    assert FOUND.keys() == {"global", "route", "inhibit_rules", "receivers"}
    assert FOUND["route"].keys() == {
        "receiver",
        "group_by",
        "group_wait",
        "group_interval",
        "repeat_interval",
        "routes",
    }
    for route in FOUND["route"]["routes"]:
        assert route.keys() == {"receiver", "matchers", "repeat_interval"}
    for rule in FOUND["inhibit_rules"]:
        assert rule.keys() == {"source_matchers", "target_matchers", "equal"}
    for one in FOUND["receivers"]:
        assert one.keys() <= {"name", "email_configs", "webhook_configs"} and len(one) > 1


def test_every_alert_has_a_receiver_that_is_there() -> None:
    names = [one["name"] for one in FOUND["receivers"]]
    assert len(set(names)) == len(names)
    used = {receiver({"alertname": name, **rule["labels"]}) for name, rule in alerts().items()}
    assert used == set(names), "a receiver that gets nothing, or one that is missing"
    assert receiver({"severity": "critical"}) != receiver({"severity": "warning"})


def test_alerts_are_grouped_by_labels_that_all_have() -> None:
    assert FOUND["route"]["group_by"] == ["region", "alertname"]


def test_causes_and_effects_are_alerts() -> None:
    for rule in FOUND["inhibit_rules"]:
        assert rule["equal"] == ["region"]
        sources, targets = ({name for name in alerts() if matches(rule[key], {"alertname": name})}
                            for key in ("source_matchers", "target_matchers"))  # fmt: skip
        named = {
            name for key in ("source_matchers", "target_matchers") for name in re.findall(r"Weft\w+", str(rule[key]))
        }
        assert named == sources | targets and not sources & targets


def test_addresses_are_placeholders() -> None:
    hosts = re.findall(r"(?:@|https://|smarthost: )([\w.-]+)", PATH.read_text())
    assert hosts and all(host.endswith("example.net") for host in hosts)


def test_prometheus_is_told_of_it() -> None:
    (there,) = yaml.safe_load(SCRAPES.read_text())["alerting"]["alertmanagers"]
    assert there["static_configs"][0]["targets"]
