"""A PE may announce its own routes while it is enrolled, and no others: with real route servers and a real
controller."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from lab.patience import until
from tests.integration.plain_pe import PlainPe
from tests.integration.route_servers import World, world
from tests.unit.trust.requests import csr

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("trust"), authority=True) as made:
        made.post("/vcps/blue/members", {"endpoint": "c2-lan"})
        yield made


def at(region: World, number: int) -> tuple[str, int]:
    return region.servers[number].address, region.servers[number].port


def learned(region: World, peer: str) -> set[str]:
    """Return the routes of a PE that the first route server sends to c2."""
    routes = region.servers[0].get("/v1/routes", table="adj-out", peer="c2")["routes"]
    return {route["nlri"] for route in routes if route["peer"] == peer}


ATTACKS: dict[str, dict[str, Any]] = {
    "foreign-rt": {"site": 1, "target": 3},
    "foreign-rd": {"site": 3, "target": 1},
    "foreign-ve": {"site": 1, "target": 1, "ve_id": 3},
    "next-hop": {"site": 1, "target": 1, "hop": "127.0.78.13"},
    "labels": {"site": 1, "target": 1, "base": 8193},
}


@pytest.mark.smoke
@pytest.mark.parametrize("reason", ATTACKS)
def test_what_is_not_its_own_goes_nowhere_and_is_told_of(region: World, reason: str) -> None:
    with closing(PlainPe("127.0.78.11", at(region, 0))) as attacker, closing(PlainPe("127.0.78.12", at(region, 0))):
        attacker.announce(site=1, target=1)
        until(lambda: learned(region, "c1"), "its own route")
        own = learned(region, "c1")
        attacker.announce(**ATTACKS[reason])
        until(lambda: region.json("route", "list", "--table", "quarantine", "--reason", reason), "the quarantine")
        key = {"site": 1, "target": 1}.items() <= ATTACKS[reason].items() and "ve_id" not in ATTACKS[reason]
        gone = key or reason == "foreign-rt"  # another form of its own route
        assert learned(region, "c1") == (set() if gone else own), "nothing of it is sent"
        told = [e["text"] for e in region.json("event", "list", "--limit", "500") if e["type"] == "quarantined"]
        assert any(reason in text for text in told), told
        attacker.announce(site=1, target=1)
        until(lambda: learned(region, "c1") == own, "its own route again")
    until(lambda: not region.servers[0].get("/v1/routes")["routes"], "an empty table")


@pytest.mark.smoke
def test_a_stranger_has_no_session(region: World) -> None:
    with pytest.raises((AssertionError, OSError)):
        PlainPe("127.0.78.66", at(region, 0))


def test_a_revoked_agents_sessions_end_within_two_seconds(region: World) -> None:
    enrol(region, "c1")
    serial = region.json("certificate", "list", "--cloudlet", "c1")[0]["serial"]
    with ExitStack() as sessions:
        mine = [sessions.enter_context(closing(PlainPe("127.0.78.11", at(region, n)))) for n in (0, 1)]
        other = sessions.enter_context(closing(PlainPe("127.0.78.12", at(region, 0))))
        mine[0].announce(site=1, target=1)
        until(lambda: learned(region, "c1"), "its route")
        began = time.monotonic()
        region.post(f"/certificates/{serial}/revoke", {})
        assert [pe.ended(2 - (time.monotonic() - began)) for pe in mine] == [True, True]
        assert time.monotonic() - began < 2 and not learned(region, "c1")
        with pytest.raises((AssertionError, OSError)):
            PlainPe("127.0.78.11", at(region, 0))
        assert not other.ended(0.5), "nobody else's session ends"
        enrol(region, "c1")
        until(lambda: returns(region), "a session again")


def test_who_was_approved_without_an_agent_has_no_session_where_all_have_to_enrol(region: World) -> None:
    region.kill()
    region.controller.environment["WEFT_ENROLLED_ONLY"] = "true"
    with closing(PlainPe("127.0.78.12", at(region, 0))) as pe:
        region.controller.start()
        region.in_step()
        assert pe.ended(2) and not returns(region, "127.0.78.12")
    assert {peer["name"] for peer in region.servers[0].get("/v1/ruleset")["peers"]} == {"c1"}
    enrol(region, "c2")
    until(lambda: returns(region, "127.0.78.12"), "a session for who has enrolled")


def enrol(region: World, cloudlet: str) -> None:
    """Enrol a cloudlet as its agent does."""
    token = region.post(f"/cloudlets/{cloudlet}/token")["token"]
    body = {"token": token, "cloudlet": cloudlet, "agent_version": "1", "csr": csr(cloudlet)}
    region.post("/enrolments", body)


def returns(region: World, address: str = "127.0.78.11") -> bool:
    """Return whether a PE gets a session."""
    try:
        PlainPe(address, at(region, 0)).close()
    except (AssertionError, OSError):
        return False
    return True
