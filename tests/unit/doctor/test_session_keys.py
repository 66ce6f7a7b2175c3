"""The doctor names each established session that is not signed with its key, and the reason."""

from dataclasses import replace

import pytest

from controller.core.doctor import RouteServer, compare_session_keys
from controller.core.session_keys import SessionKeys

STANDING = {"c1": "established", "c2": "established"}
SERVERS = [RouteServer(name, None, STANDING) for name in ("rs1", "rs2")]
BOTH = {"rs1": "k1", "rs2": "k1"}
SIGNED = SessionKeys(wanted="k1", held="k1", in_force=BOTH, seen=BOTH)


@pytest.mark.parametrize(
    "keys",
    [
        SIGNED,
        replace(SIGNED, seen={}),  # its agent has not yet said what it sees
        replace(SIGNED, wanted=None, in_force={}, seen={"rs1": "", "rs2": ""}),  # `weft cloudlet rekey --off`
        replace(SIGNED, seen={**BOTH, "rs3": ""}),  # of a route server that is none any more
    ],
)
def test_nothing_to_say(keys: SessionKeys) -> None:
    assert list(compare_session_keys({"c1": keys}, SERVERS)) == []


@pytest.mark.parametrize(
    ("keys", "server", "found", "why"),
    [
        (replace(SIGNED, held=None, in_force={}, seen={}), "rs1", "not signed", "not said that it holds"),
        (replace(SIGNED, in_force={"rs1": "k1"}, seen={"rs1": "k1", "rs2": ""}), "rs2", "not signed", "and rs2 takes"),
        (replace(SIGNED, wanted="k2", held="k1"), "rs1", "signed with another key", "not said that it holds"),
        (replace(SIGNED, seen={**BOTH, "rs2": ""}), "rs2", "not signed", "in force, and the session is from before"),
    ],
)
def test_each_session_that_is_not_signed_with_its_key(keys: SessionKeys, server: str, found: str, why: str) -> None:
    difference = next(compare_session_keys({"c1": keys, "c2": SIGNED}, SERVERS))
    assert (difference.where, difference.subject, difference.found) == ("BGP sessions of c1", server, found)
    assert why in difference.text and difference.text.startswith(f"The session of c1 with {server} is {found}: ")


def test_a_session_that_is_missing_is_no_matter_of_keys() -> None:
    keys = {"c1": replace(SIGNED, held=None, in_force={}, seen={"rs1": ""})}
    assert list(compare_session_keys(keys, [replace(SERVERS[0], sessions={"c1": "idle"})])) == []
