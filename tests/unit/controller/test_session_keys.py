"""Which key is in force for which BGP session, after any crashes: steps in any order, and then a phase in which every
step happens."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.session_keys import SessionKeys, advance, digest, password, standing

SERVERS = ("rs1", "rs2")


@dataclass
class Region:
    """One PE and two route servers; `""` is no key. The controller keeps only `in_force` over crashes; messages come
    late, or never. `broken` counts sessions that ended because of keys while the other session was down."""

    wanted: str | None = "k1"
    able: bool = True
    held: str | None = None
    in_force: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    server: dict[str, str] = field(default_factory=lambda: dict.fromkeys(SERVERS, ""))
    agent: dict[str, str] = field(default_factory=lambda: dict.fromkeys(SERVERS, ""))
    away: set[str] = field(default_factory=set)
    broken: int = 0

    def stands(self, server: str) -> bool:
        return server not in self.away and self.server[server] == self.agent[server]

    def step(self, what: str) -> None:
        verb, _, which = what.partition(" ")
        before = [s for s in SERVERS if self.stands(s)]
        match verb:
            case "decide":
                keys = SessionKeys(self.wanted, self.held, self.in_force, self.said)
                self.in_force = advance(keys, SERVERS, set(SERVERS) - self.away, SERVERS)
            case "tell" if which not in self.away:
                self.server[which] = self.in_force.get(which, "")
            case "agent" if self.able:  # the agent receives the keys, stores them, and sets them
                self.agent = {s: self.in_force.get(s, "") for s in SERVERS}
            case "held" if self.able:
                self.held = self.wanted
            case "report":
                self.said = {s: self.agent[s] for s in SERVERS if self.stands(s)}
            case "crash":
                self.away.add(which)
            case "back":
                self.away.discard(which)
            case "rekey":
                self.wanted = which
        if verb in ("tell", "agent") and not self.away:
            after = [s for s in SERVERS if self.stands(s)]
            self.broken += len(before) > 0 and not after

    def settle(self) -> None:
        self.away.clear()
        for _ in range(4):
            for what in ("held", "report", "decide", "tell rs1", "tell rs2", "agent"):
                self.step(what)
        self.step("report")


STEPS = ["decide", "tell rs1", "tell rs2", "agent", "held", "report"]
FAULTS = ["crash rs1", "crash rs2", "back rs1", "back rs2"]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from([*STEPS, *FAULTS, "rekey k2", "rekey k3"]), max_size=60))
def test_both_ends_meet_whatever_crashed(steps: list[str]) -> None:
    region = Region()
    for what in steps:
        region.step(what)
    region.settle()
    assert all(region.stands(server) for server in SERVERS), region
    assert region.in_force == dict.fromkeys(SERVERS, region.wanted) == region.server == region.agent


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from([*STEPS, "rekey k2"]), max_size=60))
def test_a_session_stands_all_the_time(steps: list[str]) -> None:
    """This holds if no route server crashes, and each report shows the present sessions."""
    region = Region()
    region.step("report")
    for what in steps:
        region.step(what)
        region.step("report")
    assert region.broken == 0, region


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*STEPS, *FAULTS, "rekey k2"]), max_size=60))
def test_an_agent_that_knows_no_keys_keeps_its_sessions(steps: list[str]) -> None:
    region = Region(able=False)
    for what in steps:
        region.step(what)
        assert not region.in_force and set(region.server.values()) == {""}
    region.settle()
    assert all(region.stands(server) for server in SERVERS)


def test_off_is_at_once() -> None:
    assert advance(SessionKeys(None, "k1", {"rs1": "k1", "rs2": "k0"}, {"rs1": "k1"}), SERVERS, SERVERS, SERVERS) == {}


def test_one_that_is_away_is_not_asked_for_another_key_nor_the_last_session_broken_off() -> None:
    keys = SessionKeys("k2", "k2", {"rs1": "k1", "rs2": "k1"}, {"rs2": "k1"})
    assert advance(keys, SERVERS, ["rs2"], ["rs2"]) == keys.in_force
    assert advance(keys, ["rs2"], ["rs2"], []) == {"rs2": "k2"}


def test_a_session_stays_until_the_other_has_settled() -> None:
    keys = SessionKeys("k2", "k2", {"rs1": "k2", "rs2": "k1"}, {"rs1": "k2", "rs2": "k1"})
    assert advance(keys, SERVERS, SERVERS, ["rs2"]) == keys.in_force
    assert advance(keys, SERVERS, SERVERS, ["rs1"]) == {"rs1": "k2", "rs2": "k2"}


def test_a_pe_without_an_agent_gets_all_its_keys_at_once() -> None:
    """Its operator holds the key, and nobody says which one a session has."""
    for before in ({}, dict.fromkeys(SERVERS, "k1")):
        assert advance(SessionKeys("k2", "k2", before), SERVERS, SERVERS, ()) == dict.fromkeys(SERVERS, "k2")


def test_one_alone_is_changed() -> None:
    assert advance(SessionKeys("k2", "k2", {"rs1": "k1"}, {"rs1": "k1"}), ["rs1"], ["rs1"], []) == {"rs1": "k2"}


def test_passwords_differ_by_cloudlet_server_and_key() -> None:
    secret = b"s" * 32
    all_of_them = {password(secret, c, s, k) for c in ("a", "b") for s in ("a", "b") for k in ("a", "b")}
    assert len(all_of_them) == 8 and all(len(one) == 64 and one.isalnum() for one in all_of_them)
    assert password(b"t" * 32, "a", "a", "a") not in all_of_them


def test_the_digest_is_that_of_route_servers() -> None:
    """routeserver/internal/control/keys_test.go has the same digest."""
    text = "127.0.77.11 md5 eins\n127.0.77.12 md5 zwei\n"
    import hashlib

    assert digest({"127.0.77.12": "zwei", "127.0.77.11": "eins"}) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({}, "key in force, no session with it"),
        ({"rs1": "k1"}, "signed"),
        ({"rs1": ""}, "key in force, no session with it"),
    ],
)
def test_standing(seen: dict[str, str], said: str) -> None:
    assert standing(SessionKeys("k1", "k1", {"rs1": "k1"}, seen))["rs1"] == said
