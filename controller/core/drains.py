"""The destinations of a cloudlet's VMs when all must leave, and their order. Pure.

Each VM goes to the best neighbour that it may go to: the one where it would arrive first, with the moves that already
go there counted. The order keeps all links busy: the largest machines of each link first, and the links in turn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

SLOW = 100e6
"""Bits per second that are assumed of a link of unknown bandwidth."""


@dataclass(frozen=True)
class Leaver:
    """A VM, how many bytes of it have to be copied, the endpoints it may go to, and the one where its device is."""

    name: str
    bytes: int
    may: frozenset[str]
    device_at: str | None = None


@dataclass(frozen=True)
class Link:
    """The path to an endpoint: bits per second (None: unknown) and the round trip in milliseconds."""

    bandwidth: float | None
    rtt_ms: float


@dataclass(frozen=True)
class Leg:
    """One move of a drain."""

    vm: str
    endpoint: str


@dataclass(frozen=True)
class Drain:
    """The moves in their order, and the VMs that cannot go anywhere."""

    legs: tuple[Leg, ...] = ()
    stranded: tuple[str, ...] = ()


def plan(leavers: Iterable[Leaver], links: Mapping[str, Link]) -> Drain:
    """Return the moves. A VM goes to its device's endpoint if it may, else to where it would arrive first; among equals
    to the nearest, then by name."""
    queues: dict[str, list[Leaver]] = {}
    busy: dict[str, float] = dict.fromkeys(links, 0.0)
    stranded = []
    for one in sorted(leavers, key=lambda leaver: (-leaver.bytes, leaver.name)):
        open_ = one.may & links.keys()
        if not open_:
            stranded.append(one.name)
            continue
        if one.device_at in open_:
            chosen = str(one.device_at)
        else:
            chosen = min(open_, key=lambda to: (busy[to] + _seconds(one, links[to]), links[to].rtt_ms, to))
        busy[chosen] += _seconds(one, links[chosen])
        queues.setdefault(chosen, []).append(one)
    in_turn = zip_longest(*([Leg(one.name, to) for one in queues[to]] for to in sorted(queues)))
    return Drain(tuple(leg for turn in in_turn for leg in turn if leg is not None), tuple(sorted(stranded)))


def _seconds(one: Leaver, link: Link) -> float:
    return one.bytes * 8 / (link.bandwidth or SLOW)
