"""Finds the known word that is near an unknown one."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.refusals import absent, missing, unknown
from controller.core.words import MANY, closest, few, meant, near

LANS = {"c1-lan", "c2-lan", "c11-lan", "hub"}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("c1", "c1-lan"),
        ("c11", "c11-lan"),
        ("c1-lam", "c1-lan"),
        ("c2-lann", "c2-lan"),
        ("c2-lan-b", "c2-lan"),
        ("hu", "hub"),
        ("h", ""),
        ("nobody", ""),
        ("", ""),
        ("x" * 100, ""),
    ],
)
def test_a_misspelt_word_and_a_prefix_are_near(word: str, found: str) -> None:
    assert near(word, LANS) == found
    assert near(word, []) == ""
    assert meant(word, LANS) == (f": did you mean '{found}'?" if found else "")
    assert closest(word, LANS)[1] == found


def test_the_name_of_a_cloudlet_is_near_that_of_its_lan() -> None:
    assert near("c1-lan", {"c1", "c2"}) == "c1"


def test_among_very_many_those_are_looked_at_that_begin_alike() -> None:
    many = {f"c{number}-lan" for number in range(20 * MANY)}
    assert near("c77", many) == ""
    assert near("c77-lam", many, len(many)) == "c77-lan"
    assert unknown("endpoint", "endpoint", "c77", many).suggestion == "c77-lan"
    assert missing("endpoint", "c7777-lam", many).message.endswith("did you mean 'c7777-lan'?")
    assert missing("endpoint", "c77-lan-b", many).message.endswith("did you mean 'c77-lan'?")
    assert len(few("c", many)) == MANY


NAMES = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=63)


@given(NAMES, st.sets(NAMES, max_size=20))
def test_a_near_word_is_a_known_one(word: str, known: set[str]) -> None:
    assert near(word, known) in known | {""}
    if len(word) < 60:
        assert near(word, known | {f"{word}-lan"}) != ""


def test_a_refusal_says_which() -> None:
    refused = unknown("endpoint", "endpoint", "c1", LANS)
    assert (refused.field, refused.suggestion) == ("endpoint", "c1-lan")
    assert refused.message == "there is no endpoint 'c1': did you mean 'c1-lan'?"
    assert missing("endpoint", "c1", LANS).message == refused.message
    assert absent("endpoint", "c1") == "there is no endpoint 'c1'"
