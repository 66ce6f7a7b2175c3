"""Reports and comments for continuous integration: JUnit, SARIF, and a plan as Markdown."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from controller.cli.policy_comment import comment
from controller.cli.policy_reports import Case, junit, sarif
from tests.house.imports import ROOT
from tests.unit.cli.conftest import Controller, Weft
from tests.unit.cli.test_policies import GOOD, PLAN, PLANNED

BAD = "apiVersion: weft/v1\nvcps:\n  blue:\n    member: [a]\n"
INVENTORY = ROOT / "policies" / "inventories" / "three-towns.yaml"
TESTED = GOOD + "tests:\n- name: 'a < b'\n  isolated: [c1-lan, c2-lan]\n"
AT = {"file": "p.yaml", "line": 4, "column": 5, "field": "x", "message": "no <b>\x1b[31m"}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(BAD)
    return str(good), str(bad)


def test_a_check_is_reported_as_junit(weft: Weft, files: tuple[str, str], tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    result = weft("policy", "check", "--offline", "--report", str(report), *files)
    assert result.code == 1 and f"{files[0]}: right" in result.out
    root = ElementTree.fromstring(report.read_text())
    assert [(suite.get("name"), suite.get("failures")) for suite in root] == [(files[0], "0"), (files[1], "1")]
    [failure] = root.iter("failure")
    assert failure.get("message") == "unknown key 'member': did you mean 'members'?"
    assert failure.text and failure.text.startswith(f"{files[1]}:4:5: unknown key")


def test_a_check_is_reported_as_sarif(weft: Weft, files: tuple[str, str], tmp_path: Path) -> None:
    report = tmp_path / "report.sarif"
    assert weft("policy", "check", "--offline", "--report", str(report), *files).code == 1
    [run] = json.loads(report.read_text())["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": files[1]}, "region": {"startLine": 4, "startColumn": 5}}
    assert run["results"][0]["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_tests_are_reported(controller: Controller, weft: Weft, files: tuple[str, str], tmp_path: Path) -> None:
    tests = [
        {"name": "one", "outcome": "passed", "said": AT, "why": []},
        {"name": "two", "outcome": "failed", "said": AT, "why": []},
        {"name": "three", "outcome": "skipped", "said": AT, "why": []},
    ]
    controller.answers["POST", "/api/v1/policy/test"] = {"ok": False, "tests": tests}
    report = tmp_path / "tests.xml"
    assert weft("policy", "test", "--report", str(report), files[0]).code == 1
    [suite] = ElementTree.fromstring(report.read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["one", "two", "three"]


def test_the_name_of_a_report_tells_its_form(weft: Weft, files: tuple[str, str], tmp_path: Path) -> None:
    for verb in ("check", "test"):
        result = weft("policy", verb, "--offline", "--report", str(tmp_path / "report.txt"), files[0])
        assert result.code == 2 and ".xml (JUnit) or .sarif (SARIF)" in result.err
    missing = str(tmp_path / "none" / "report.xml")
    result = weft("policy", "check", "--offline", "--report", missing, files[0])
    assert result.code == 74 and missing in result.err


def test_no_text_breaks_out_of_a_report() -> None:
    cases = [Case("p.yaml", "t]]>\x07", "failed", [AT]), Case("p.yaml", "check", "passed", warnings=[AT])]
    [suite] = ElementTree.fromstring(junit(cases))
    assert "\x1b" not in junit(cases) and len(suite) == 2
    levels = [result["level"] for result in json.loads(sarif(cases))["runs"][0]["results"]]
    assert levels == ["error", "warning"]


def test_a_plan_is_written_as_a_comment(
    controller: Controller, weft: Weft, files: tuple[str, str], tmp_path: Path
) -> None:
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    file = tmp_path / "plan.md"
    assert weft("policy", "plan", "--comment", str(file), files[0]).code == 0
    lines = file.read_text().splitlines()
    assert lines[0] == f"### Plan of `{files[0]}`"
    assert lines[2] == "```diff" and "+ c1-lan joins blue" in lines and "! VCP old is described anew" in lines
    assert lines[-1] == "Planned at generation 41, against revision 7; nothing was changed."


def test_a_comment_has_routes_tests_and_harm() -> None:
    servers = [{"peers": [{"peer": f"c{n}", "announced": n, "withdrawn": 1} for n in range(30)]}]
    lease = {"endpoint": "c1-lan", "device": "m1", "kind": "md", "address": "10.1.0.2", "why": "reserved for [x](y)"}
    said = comment(
        "p.yaml",
        PLANNED
        | {
            "plan": PLAN | {"settings": [{"path": "p", "before": None, "after": "```\n# title"}]},
            "change": {"route_servers": servers},
            "leases": [lease],
            "tests": [{"name": "one", "outcome": "failed", "said": AT}],
            "disconnects": [{"at": AT}],
            "warnings": [AT],
        },
    )
    lines = said.splitlines()
    assert "````diff" in lines and "| c29 | 29 | 1 |" in lines and "| and 10 more PEs | | |" in lines
    assert "reserved for \\[x\\](y)" in said and "<b>" not in said.replace("\\<b\\>", "")
    assert "- ✗ one" in lines and not any(line.startswith("# title") for line in lines)


def test_pre_commit_runs_what_weft_has(weft: Weft, files: tuple[str, str]) -> None:
    right = {"weft-policy-check": files[0], "weft-inventory-check": str(INVENTORY)}
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        program, *words = hook["entry"].split()
        assert program == "weft"
        assert [weft(*words, file).code for file in (right.pop(hook["id"]), files[1])] == [0, 1]
    assert not right
