"""The search for cloudlets close to a place, without looking at all of them.

The earth is cut into rows of a hundredth of a degree of latitude (1.1 km) and each row into cells about as wide, fewer
towards the poles. The cells do not depend on the policy: another coverage reads more of them, and rebuilds none."""

from collections.abc import Iterable, Iterator, Mapping
from math import asin, ceil, cos, degrees, floor, radians, sin

from controller.core.persistent_map import PersistentMap
from controller.core.proximity.geodesic import LEAST_RADIUS, Position

ROWS = 18_000
"""The number of rows from the south pole to the north pole."""

Cell = tuple[int, int]

_EMPTY: Mapping[str, Position] = {}


class Grid:
    """Names by place. Never changed in place: `but` returns another one."""

    def __init__(self, cells: PersistentMap[Cell, Mapping[str, Position]] | None = None) -> None:
        self._cells: PersistentMap[Cell, Mapping[str, Position]] = PersistentMap() if cells is None else cells

    def but(self, moves: Iterable[tuple[str, Position | None, Position | None]]) -> "Grid":
        """Return the grid after moves: a name, its place before and its place after, None for nowhere."""
        found: dict[Cell, dict[str, Position]] = {}
        for name, before, after in moves:
            if before == after:
                continue
            if before is not None:
                del found.setdefault(_cell(before), dict(self._cells.get(_cell(before), _EMPTY)))[name]
            if after is not None:
                found.setdefault(_cell(after), dict(self._cells.get(_cell(after), _EMPTY)))[name] = after
        left = {cell: names for cell, names in found.items() if names}
        return Grid(self._cells.updated(left, found.keys() - left.keys())) if found else self

    def around(self, place: Position, metres: float) -> Iterator[tuple[str, Position]]:
        """Yield all names within `metres` of a place, and some that are a little farther: the caller measures."""
        for cell in self._around(place, metres):
            yield from self._cells.get(cell, _EMPTY).items()

    def _around(self, place: Position, metres: float) -> Iterator[Cell]:
        away = (metres + 1e-6) / LEAST_RADIUS * (1 + 1e-6)
        south, north = place.latitude - degrees(away), place.latitude + degrees(away)
        rows = range(_row(max(south, -90.0)), _row(min(north, 90.0)) + 1)
        across = None if south <= -90 or north >= 90 else _across(radians(place.latitude), away)
        if len(rows) > len(self._cells):
            yield from list(self._cells)
            return
        for row in rows:
            count = _columns(row)
            if across is None or 2 * across * count / 360 + 2 >= count:
                chosen = range(count)
            else:
                chosen = range(
                    floor((place.longitude - across + 180) * count / 360),
                    floor((place.longitude + across + 180) * count / 360) + 1,
                )
            if len(chosen) > len(self._cells):
                yield from (cell for cell in list(self._cells) if cell[0] == row)
            else:
                yield from ((row, column % count) for column in chosen)


def _across(latitude: float, away: float) -> float | None:
    """Return how many degrees of longitude a circle of `away` radians extends to either side; None if it holds a
    pole."""
    ratio = sin(away) / cos(latitude)
    return degrees(asin(ratio)) * (1 + 1e-6) + 1e-9 if ratio < 1 else None


def _cell(place: Position) -> Cell:
    row = _row(place.latitude)
    count = _columns(row)
    return row, floor((place.longitude + 180) * count / 360) % count


def _row(latitude: float) -> int:
    return min(floor((latitude + 90) * ROWS / 180), ROWS - 1)


def _columns(row: int) -> int:
    """Return the number of cells in a row: as wide as they are high, at the row's middle."""
    return max(1, ceil(2 * ROWS * cos(radians((row + 0.5) * 180 / ROWS - 90))))
