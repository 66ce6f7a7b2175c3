"""Whose turn it is: how many moves may use a link, and a cloudlet, at a time. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Journey:
    """A move, from one cloudlet to another. One that is `held` back cannot begin yet, whatever the limits."""

    name: str
    source: str
    destination: str
    held: bool = False


def admitted(waiting: Iterable[Journey], moving: Iterable[Journey], per_link: int, per_cloudlet: int) -> list[str]:
    """Those that may begin now, in the order in which they came. A link is from one cloudlet to another, in that
    direction; a cloudlet has to do with the moves from it and with those to it. Whoever cannot begin keeps nobody
    back who can."""
    links: Counter[tuple[str, str]] = Counter()
    cloudlets: Counter[str] = Counter()

    def begin(one: Journey) -> None:
        links[one.source, one.destination] += 1
        cloudlets.update((one.source, one.destination))

    for one in moving:
        begin(one)
    found = []
    for one in waiting:
        full = max(cloudlets[one.source], cloudlets[one.destination]) >= per_cloudlet
        if not one.held and not full and links[one.source, one.destination] < per_link:
            begin(one)
            found.append(one.name)
    return found
