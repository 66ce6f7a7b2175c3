from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.proximity.geodesic import GREATEST_RADIUS, LEAST_RADIUS, Position, angle, metres, within

places = st.builds(Position, st.floats(-90, 90), st.floats(-180, 180))


def test_known_distances() -> None:
    """The distances are a degree of the equator, and one of the meridian at the equator and at the pole (WGS-84
    tables)."""
    assert metres(Position(0, 0), Position(0, 1)) == pytest.approx(111_319.491, abs=0.001)
    assert metres(Position(0, 0), Position(1, 0)) == pytest.approx(110_574.389, abs=0.001)
    assert metres(Position(89, 0), Position(90, 0)) == pytest.approx(111_693.865, abs=0.001)


def test_the_date_line_and_the_poles_are_no_borders() -> None:
    assert metres(Position(10, 179.999), Position(10, -179.999)) == pytest.approx(219.279, abs=0.001)
    assert metres(Position(10, 180), Position(10, -180)) == 0
    assert metres(Position(90, 0), Position(90, 123)) == pytest.approx(0, abs=1e-6)
    assert metres(Position(89.999, 0), Position(89.999, 180)) == pytest.approx(2 * 111.694, abs=0.01)
    assert within(Position(-90, -180), Position(-90, 77), 0.001)


@given(places, places)
def test_the_geodesic_is_between_the_spheres(a: Position, b: Position) -> None:
    between, exact = angle(a, b), metres(a, b)
    assert exact >= between * LEAST_RADIUS * (1 - 1e-6) - 1e-6
    assert exact <= between * GREATEST_RADIUS * (1 + 1e-6) + 1e-6


@given(places, places, st.floats(0.9, 1.1))
def test_within_is_what_the_geodesic_says(a: Position, b: Position, factor: float) -> None:
    limit = metres(a, b) * factor
    assert within(a, b, limit) == (metres(a, b) <= limit) == within(b, a, limit)


@given(places)
def test_a_place_is_within_anything_of_itself(a: Position) -> None:
    assert within(a, a, 0) and within(a, a, inf) and not within(a, a, -1)
