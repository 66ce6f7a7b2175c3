"""What is left of a pool when somebody goes: the parts that nearness still connects."""

from collections.abc import Callable, Iterable

Near = Callable[[str], Iterable[str]]
"""Endpoint → the endpoints that are near it, whatever pools they are in."""


def parts(members: frozenset[str], near: Near) -> list[frozenset[str]]:
    """The connected parts of a pool, the greatest first, of equals the one with the first name: that one keeps the
    pool's name, the others become pools of their own."""
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
