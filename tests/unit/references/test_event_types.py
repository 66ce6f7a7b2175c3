"""Every event that the code records is in the catalogue, and the catalogue has no other."""

import ast

import pytest

from controller.core.event_types import EVENT_TYPES, GROUPS
from controller.core.event_types.route_servers import SEEN_BY_ROUTE_SERVERS
from tests.unit.references.recorded import (
    COMPUTED,
    LISTED,
    LOG,
    PASSED_ON,
    Recorded,
    calls,
    recorded,
    seen_by_route_servers,
)

RECORDED = list(recorded())


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one.file}:{one.line}")
def test_a_recorded_type_is_in_the_catalogue(one: Recorded) -> None:
    if one.type is None:
        assert one.file in COMPUTED.keys() | PASSED_ON, "a computed type: name all of them in COMPUTED"
        return
    assert one.type in EVENT_TYPES, f"{one.type} is not in controller/core/event_types"
    assert one.data <= set(EVENT_TYPES[one.type].data), f"{one.type} has data that its entry does not name"


def test_computed_types_are_in_the_catalogue() -> None:
    for file, types in {**COMPUTED, **LISTED}.items():
        assert types <= EVENT_TYPES.keys(), file


def test_the_catalogue_has_no_type_that_nobody_records() -> None:
    used = {one.type for one in RECORDED} | seen_by_route_servers()
    assert EVENT_TYPES.keys() - used == set().union(*COMPUTED.values(), *LISTED.values()) - used


def test_route_servers_see_what_the_catalogue_says() -> None:
    assert seen_by_route_servers() == SEEN_BY_ROUTE_SERVERS.keys()


def test_no_type_is_in_two_groups() -> None:
    assert len(EVENT_TYPES) == sum(map(len, GROUPS.values()))
    assert max(map(len, EVENT_TYPES)) <= 40, "the database keeps 40 characters"


def test_each_file_computes_types_or_passes_them_on() -> None:
    assert {one.file for one in RECORDED if one.type is None} == COMPUTED.keys() | PASSED_ON


def test_calls_are_found_in_all_their_forms() -> None:
    text = """
A, B = "one", "two"
async def f(self, session, kind):
    await events.add(session, A, "x", "y", caused_by=None, size=1)
    self._event_log.note("three", "x", "y", **data)
    self.note(f"four-{kind}", "x", "y")
    yield News("five", "y", {})
    refusals.note("x", "y")
    turn.note(step, "failed", why)
    found.add(1, 2, 3, 4)
"""
    found = {(one.line, one.type, one.data) for one in calls(LOG, ast.parse(text))}
    nothing = frozenset[str]()
    assert found == {(4, "one", frozenset({"size"})), (5, "three", nothing), (6, None, nothing), (7, "five", nothing)}
