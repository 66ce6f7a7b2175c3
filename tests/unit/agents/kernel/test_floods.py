"""The flood entries of a tunnel, from several dumps, each of which may lack some."""

from collections.abc import Sequence

import pytest

from agents.kernel.floods import AGAIN, Floods
from agents.kernel.snapshot import Flood

FEW, MANY = 10, 1000
ALL = AGAIN + 1
"""The number of dumps if one is in doubt."""


class Tunnel:
    """The tunnel with the interface index 7 as a kernel shows it: each dump has some of its VTEPs, by number."""

    def __init__(self, size: int, first: int | None, dumps: Sequence[set[int]]) -> None:
        self.size, self.first, self.dumps = size, first, list(dumps)
        self.floods = Floods()

    async def read(self) -> set[int]:
        found = await self.floods.read({7}, self._dump, self._first)
        return {int(flood.vtep.rpartition(".")[2]) for flood in found.get(7, ())}

    async def _dump(self) -> tuple[set[tuple[int, Flood]], int]:
        return {(7, _flood(number)) for number in self.dumps.pop(0)}, self.size

    async def _first(self, index: int) -> Flood | None:
        assert index == 7
        return None if self.first is None else _flood(self.first)


def _flood(number: int) -> Flood:
    return Flood(f"192.0.2.{number}", 1)


@pytest.mark.parametrize(
    ("size", "first", "dumps", "read"),
    [
        (FEW, 2, [{2}], {2}),
        (MANY, 1, [{1, 2, 3}], {1, 2, 3}),
        (MANY, 1, [{1}, set(), {1, 2}], {1, 2}),
        (MANY, 1, [{1}] * ALL, {1}),
        (MANY, 1, [{2}] * ALL, {1, 2}),
        (MANY, 1, [set()] * ALL, {1, 2}),
        (MANY, 3, [{3}] * ALL, {3}),
        (MANY, None, [set()] * ALL, set()),
    ],
    ids=[
        "one piece",
        "nothing lacks",
        "two lack one",
        "one is gone",
        "the first lacks",
        "all lack",
        "others",
        "none",
    ],
)
async def test_what_was_there_is_gone_if_no_dump_has_it(
    size: int, first: int | None, dumps: list[set[int]], read: set[int]
) -> None:
    tunnel = Tunnel(size, 1, [{1, 2}] * (1 if size is FEW else 2) + dumps)
    assert await tunnel.read() == {1, 2}
    tunnel.first = first
    assert await tunnel.read() == read
    assert tunnel.dumps == []


async def test_at_the_start_the_first_is_asked_for() -> None:
    assert await Tunnel(MANY, 1, [{2}, {2}]).read() == {1, 2}


async def test_at_the_start_dumps_that_differ_are_taken_together() -> None:
    assert await Tunnel(MANY, 1, [{1}, {1, 2}, {3}, {1, 2, 3}, {1}]).read() == {1, 2, 3}
