"""A session counts as stable when it has been up for a while, and no key changes at its route server."""

from controller.core.session_keys import SessionKeys
from controller.core.session_stability import PATIENCE, SETTLED, SessionStability

SERVERS = ("rs1", "rs2")
OLD = {"rs1": "k1", "rs2": "k1"}
QUIET = SessionKeys("k1", "k1", OLD, OLD)
BEGUN = SessionKeys("k2", "k2", {"rs1": "k2", "rs2": "k1"}, {"rs2": "k1"})
BACK = SessionKeys("k2", "k2", {"rs1": "k2", "rs2": "k1"}, {"rs1": "k2", "rs2": "k1"})


def looked(*looks: tuple[float, dict[str, SessionKeys]]) -> SessionStability:
    settling = SessionStability()
    for now, keys in looks:
        settling.look(keys, now)
    return settling


def test_a_session_has_to_stand_for_a_while() -> None:
    assert looked((0, {"c1": QUIET})).settled("c1", SERVERS) == set()
    assert looked((0, {"c1": QUIET}), (SETTLED - 0.1, {"c1": QUIET})).settled("c1", SERVERS) == set()
    assert looked((0, {"c1": QUIET}), (SETTLED, {"c1": QUIET})).settled("c1", SERVERS) == set(SERVERS)


def test_one_that_comes_back_has_to_stand_anew() -> None:
    looks = [(0.0, {"c1": QUIET}), (10.0, {"c1": BEGUN}), (11.0, {"c1": BACK})]
    assert looked(*looks).settled("c1", SERVERS) == {"rs2"}
    assert looked(*looks, (11 + SETTLED, {"c1": BACK})).settled("c1", SERVERS) == set(SERVERS)


def test_while_a_key_changes_at_one_route_server_all_stay_with_the_others() -> None:
    looks = [(0.0, {"c1": QUIET, "c2": QUIET}), (10.0, {"c1": QUIET, "c2": BEGUN})]
    assert looked(*looks).settled("c1", SERVERS) == {"rs2"}, "nobody's session with rs2 may be broken off"
    back = [(12.0, {"c1": QUIET, "c2": BACK}), (12 + SETTLED, {"c1": QUIET, "c2": BACK})]
    assert looked(*looks, *back).settled("c1", SERVERS) == set(SERVERS)


def test_who_does_not_come_back_holds_up_nobody_for_long() -> None:
    looks = [(0.0, {"c1": QUIET, "c2": QUIET}), (10.0, {"c1": QUIET, "c2": BEGUN})]
    after = looked(*looks, (10 + PATIENCE, {"c1": QUIET, "c2": BEGUN}))
    assert after.settled("c1", SERVERS) == set(SERVERS)
    assert after.settled("c2", SERVERS) == {"rs2"}
