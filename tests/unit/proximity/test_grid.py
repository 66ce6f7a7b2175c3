from hypothesis import given
from hypothesis import strategies as st

from controller.core.proximity.geodesic import Position, metres
from controller.core.proximity.grid import Grid

anywhere = st.builds(Position, st.floats(-90, 90), st.floats(-180, 180))
crowded = st.builds(
    lambda base, dy, dx: Position(max(-90.0, min(90.0, base.latitude + dy)), (base.longitude + dx + 180) % 360 - 180),
    st.sampled_from(
        [
            Position(45, 7),
            Position(0, 0),
            Position(-33.9, -180),
            Position(60, 179.995),
            Position(89.99, 10),
            Position(-90, 0),
        ]
    ),
    st.floats(-0.03, 0.03),
    st.floats(-0.06, 0.06),
)
places = st.one_of(crowded, crowded, anywhere)
towns = st.lists(places, max_size=40).map(lambda found: {f"c{n}": place for n, place in enumerate(found)})
distances = st.one_of(st.floats(0, 5000), st.floats(0, 2.1e7), st.sampled_from([0.0, 1036.0]))


def filled(towns: dict[str, Position]) -> Grid:
    return Grid().but((name, None, place) for name, place in towns.items())


def found(grid: Grid, here: Position, limit: float) -> set[str]:
    return {name for name, place in grid.around(here, limit) if metres(here, place) <= limit}


def scan(towns: dict[str, Position], here: Position, limit: float) -> set[str]:
    return {name for name, place in towns.items() if metres(here, place) <= limit}


@given(towns, places, distances)
def test_the_grid_finds_what_a_scan_finds(towns: dict[str, Position], here: Position, limit: float) -> None:
    grid = filled(towns)
    assert found(grid, here, limit) == scan(towns, here, limit)
    for place in towns.values():
        assert found(grid, place, limit) == scan(towns, place, limit)


@given(towns, st.lists(st.tuples(st.integers(0, 45), st.none() | places), max_size=20), places, distances)
def test_so_does_one_that_was_changed(
    towns: dict[str, Position], changes: list[tuple[int, Position | None]], here: Position, limit: float
) -> None:
    grid = filled(towns)
    now = dict(towns)
    for number, place in changes:
        before, was = grid, found(grid, here, limit)
        grid = grid.but([(f"c{number}", now.pop(f"c{number}", None), place)])
        assert found(before, here, limit) == was, "the one before has changed"
        if place is not None:
            now[f"c{number}"] = place
    assert found(grid, here, limit) == scan(now, here, limit)


def test_nobody_is_given_twice() -> None:
    """A circle that goes round the earth, or round a pole, meets each cell only once."""
    towns = {f"c{n}": Position(latitude, n * 7.0 - 180) for n, latitude in enumerate([89.999, -89.999, 0.0, 89.5] * 12)}
    for here in (Position(90, 0), Position(89.99, -180), Position(0, 180), Position(-90, 5)):
        for limit in (0.0, 500.0, 30_000.0, 1e6, 2.1e7):
            names = [name for name, _ in filled(towns).around(here, limit)]
            assert len(names) == len(set(names))
