"""The parts of a pool, after a member leaves, that nearness still connects."""

from collections.abc import Callable, Iterable

Near = Callable[[str], Iterable[str]]
"""Endpoint → the endpoints that are near it, whatever pools they are in."""


def parts(members: frozenset[str], near: Near) -> list[frozenset[str]]:
    """Return the connected parts of a pool, the greatest first, among equals the one with the first name. The first
    part keeps the pool's name, the others become pools of their own."""
    left, found = set(members), []
    while left:
        part, edge = set[str](), [left.pop()]
        while edge:
            part.add(here := edge.pop())
            reached = left.intersection(near(here))
            left -= reached
            edge += reached
        found.append(frozenset(part))
    return sorted(found, key=lambda part: (-len(part), min(part)))
