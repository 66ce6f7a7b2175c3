"""The order of changes to values that only one owner at a time may have, such as VTEPs. Pure."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

V = TypeVar("V", bound=Hashable)


def in_order(names: Iterable[str], before: Callable[[str], V | None], after: Callable[[str], V | None]) -> list[str]:
    """Return the names in an order in which each takes its value after its present owner has given it up. `before` and
    `after` return an owner's value, None if it has none. Owners that exchange values have no such order, and stay in
    that of their names."""
    every = sorted(names)
    owners = {value: name for name in every if (value := before(name)) is not None and value != after(name)}
    done: dict[str, None] = {}
    for first in every:
        chain: dict[str, None] = {}
        name: str | None = first
        while name is not None and name not in done and name not in chain:
            chain[name] = None
            value = after(name)
            name = owners.get(value) if value is not None and value != before(name) else None
        done.update(dict.fromkeys(reversed(chain)))
    return list(done)
