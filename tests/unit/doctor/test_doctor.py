"""The doctor finds nothing in a consistent region, and exactly the changed part in one that is not."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import click
import pytest
from hypothesis import given
from typer.main import get_command

from controller.cli.main import app
from controller.core.doctor import REMEDIES, DifferenceKind, RouteServer
from controller.wire import rulesets
from controller.wire.findings import Finding, FindingKind
from tests.unit.doctor.regions import Region, check, regions


@given(regions())
def test_a_region_that_agrees_has_no_difference(region: Region) -> None:
    assert check(region) == []


def test_desired_state_that_does_not_follow_from_the_pools_is_found() -> None:
    region, wider = Region(4, [{1, 2}]), Region(4, [{1, 2, 4}])
    differences = check(region, c1=wider.cloudlet(1))
    assert [(d.where, d.expected, d.found) for d in differences] == [
        ("desired state of c1", "c2-lan", "c2-lan, c4-lan")
    ]


@pytest.mark.parametrize(
    ("change", "subject", "found"),
    [
        ({"generation": 6}, "generation", "6"),
        ({"peers": []}, "peer c1", "unknown"),
        ({"vcps": [rulesets.Vcp(name="pool0", members=["c1-lan"])]}, "VCP pool0", "members: c1-lan"),
        ({"vcps": []}, "VCP pool0", "unknown"),
    ],
)
def test_a_rule_set_that_differs(change: dict[str, Any], subject: str, found: str) -> None:
    region = Region(2, [{1, 2}])
    server = region.route_server("rs1")
    differences = check(region, rs1=replace(server, rule_set=region.intent().model_copy(update=change)))
    assert (differences[0].where, differences[0].subject, differences[0].found) == ("route server rs1", subject, found)


def test_a_rule_set_that_has_too_much() -> None:
    region = Region(2, [{1, 2}])
    extra = rulesets.Vcp(name="stray", members=[])
    rules = region.intent().model_copy(update={"vcps": [*region.vcps, extra]})
    [difference] = check(region, rs2=replace(region.route_server("rs2"), rule_set=rules))
    assert (difference.subject, difference.expected) == ("VCP stray", "none")


def test_a_route_server_that_is_away_is_one_difference() -> None:
    [difference] = check(Region(3, [{1, 2}]), rs1=RouteServer("rs1", None, error="connection refused"))
    assert difference.found == "connection refused" and "rs1" in difference.text


@pytest.mark.parametrize("kind", get_args(FindingKind))
def test_every_finding_of_an_agent_is_a_difference_with_a_remedy(kind: FindingKind) -> None:
    region = Region(2, [{1, 2}])
    finding = Finding(kind=kind, subject="it", expected="one", found="two", text="it is two")
    cloudlet = region.cloudlet(1)
    assert cloudlet.report is not None
    report = cloudlet.report.model_copy(update={"findings": [finding]})
    [difference] = check(region, c1=replace(cloudlet, report=report))
    assert (difference.kind, difference.text) == (kind, "it is two") and difference.remedy


COMMANDS = re.compile(r"`weft ([a-z-]+) ([a-z]+)[^`]*`")
DOCUMENTED = Path("docs/reference/doctor.md")


@pytest.mark.parametrize("kind", DifferenceKind)
def test_every_kind_has_a_remedy_that_can_be_followed_and_is_documented(kind: DifferenceKind) -> None:
    remedy = REMEDIES[kind]
    nouns = cast(click.Group, get_command(app)).commands
    for noun, verb in COMMANDS.findall(remedy):
        assert verb in cast(click.Group, nouns[noun]).commands, f"weft {noun} {verb}"
    line = next(line for line in DOCUMENTED.read_text().splitlines() if line.startswith(f"| `{kind}` |"))
    assert line.endswith(f"| {remedy} |")
