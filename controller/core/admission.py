"""Admission of moves: how many may use a link, and a cloudlet, at a time. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Journey:
    """A move from one cloudlet to another. A move that is `held` cannot begin yet, whatever the limits."""

    name: str
    source: str
    destination: str
    held: bool = False


def admitted(waiting: Iterable[Journey], moving: Iterable[Journey], per_link: int, per_cloudlet: int) -> list[str]:
    """Return the moves that may begin now, in their order of arrival. A link leads from one cloudlet to another, in
    that direction only; a cloudlet's limit counts the moves from it and to it. A move that cannot begin does not block
    later ones."""
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
