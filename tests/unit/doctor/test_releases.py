"""Releases that do not work together are found, and those that do are not."""

from dataclasses import replace

import pytest

from controller.core.doctor import Cloudlet, Difference, DifferenceKind, RouteServer, compare_releases
from controller.core.releases import release
from tests.unit.doctor.regions import Region

REGION = Region(2, [{1, 2}])


def running(version: str, understands: tuple[str, ...] = (), *, connected: bool = True) -> Cloudlet:
    """Return a cloudlet whose agent reports that release."""
    cloudlet = REGION.cloudlet(1)
    assert cloudlet.report is not None
    report = cloudlet.report.model_copy(update={"agent_version": version, "understands": list(understands)})
    return replace(cloudlet, report=report, connected=connected)


def found(controllers: str, servers: str = "", agent: str = "") -> list[Difference]:
    """Compare releases that are given as words: replicas n0, n1, … and route servers rs0, rs1, …"""
    replicas = {f"n{i}": text for i, text in enumerate(controllers.split())}
    route_servers = [RouteServer(f"rs{i}", None, version=text) for i, text in enumerate(servers.split())]
    return list(compare_releases(replicas, route_servers, [running(agent)] if agent else []))


@pytest.mark.parametrize(
    ("controllers", "servers", "agent"),
    [
        ("1.4.2", "1.4.2 1.4.2", "1.4.2"),
        ("1.4.0", "1.5.0 1.4.0", "1.4.0"),  # route servers are upgraded first, one after the other
        ("1.4.0", "1.5.0 1.5.0", "1.4.0"),
        ("1.5.0 1.5.0", "1.5.0 1.5.0", "1.4.7"),  # then controllers, then agents
        ("1.4.1", "1.4.0 1.4.2", "1.4.9"),  # patches mix
        ("2.0.0", "2.0.0", "1.9.3"),
        ("1.4.3.dev7+gabc", "1.4.3.dev9+gdef", "1.4.3.dev2+g123"),
        ("1.4.3.dev7+gabc", "1.4.3.dev7+gabc.changed", "1.4.3.dev7"),
        ("1.4.2", "1.4.3.dev1", "1.4.2"),
        ("0", "dev", "fake"),  # nothing is known of them
        ("1.4.2", "0", "0"),
        ("", "1.4.2", "1.9.0"),
    ],
)
def test_releases_that_work_together(controllers: str, servers: str, agent: str) -> None:
    assert found(controllers, servers, agent) == []


@pytest.mark.parametrize(
    ("controllers", "servers", "agent", "where", "expected"),
    [
        ("1.4.2 1.4.1", "", "", "replica n1", "1.4.2"),
        ("1.4.9 1.4.10", "", "", "replica n0", "1.4.10"),
        ("1.4.3.dev7 1.4.3.dev8", "", "", "replica n0", "1.4.3.dev8"),
        ("1.6.0", "1.6.0 1.4.0", "", "route server rs1", "1.6.0"),
        ("1.5.0", "1.5.0 1.4.9", "", "route server rs1", "1.5.0 or newer"),
        ("1.4.3.dev7", "1.4.3.dev6", "", "route server rs0", "1.4.3.dev7 or newer"),
        ("1.4.0", "1.6.0", "", "route server rs0", "1.4.0"),
        ("1.4.0", "", "1.5.0", "agent of c1", "1.4.0 or older"),
        ("1.4.2", "", "1.4.3.dev1", "agent of c1", "1.4.2 or older"),
        ("1.6.0", "", "1.4.9", "agent of c1", "1.6.0"),
        ("2.1.0", "", "1.9.0", "agent of c1", "2.1.0"),
        ("3.0.0", "", "1.9.0", "agent of c1", "3.0.0"),
    ],
)
def test_releases_that_do_not(controllers: str, servers: str, agent: str, where: str, expected: str) -> None:
    [difference] = found(controllers, servers, agent)
    assert (difference.kind, difference.where, difference.expected) == (DifferenceKind.RELEASE_SKEW, where, expected)
    assert difference.found in difference.text and "upgrade.md" in difference.remedy


def test_of_an_agent_that_is_away_nothing_is_said() -> None:
    assert list(compare_releases({"n": "1.6.0"}, [], [running("1.4.0", connected=False)])) == []
    assert list(compare_releases({"n": "1.6.0"}, [], [replace(running("1.4.0"), report=None)])) == []


def test_an_agent_that_does_not_know_what_its_desired_state_uses() -> None:
    known = ("access", "desired.endpoints.gateway6", "desired.endpoints.prefix6", "desired.protected")
    [difference] = compare_releases({"n": "1.4.0"}, [], [running("1.4.0", known[:2])])
    assert (difference.kind, difference.where) == (DifferenceKind.AGENT_TOO_OLD, "agent of c1")
    assert difference.expected == "desired.endpoints.prefix6" and "1.4.0" in difference.text
    assert list(compare_releases({"n": "1.4.0"}, [], [running("1.4.0", known)])) == []
    assert list(compare_releases({"n": "1.4.0"}, [], [running("1.4.0", ())])) == [], "its release does not say"


@pytest.mark.parametrize("text", ["", "0", "dev", "1.2.x", "v", "1" * 300 + "x", "-1"])
def test_texts_that_name_no_release(text: str) -> None:
    assert release(text) is None


def test_debian_s_form_is_read() -> None:
    one, other = release("1.4.3~dev7+g0123abc"), release("1.4.3")
    assert one is not None and other is not None and one.older(other) and not other.older(one)
