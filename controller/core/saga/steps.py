"""The steps of a move in their order, the side that does each, and how long it may take."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Literal

Side = Literal["controller", "source", "destination"]
"""The side that does a step: one of the two cloudlets' agents, or the controller itself."""


class Step(StrEnum):
    """`ABORT`, `DISCONNECT` and `RELEASE` undo, or clear up at the end; `NORMAL`: nothing is left to be done. Only an
    initiation has `INITIATE`."""

    AUTHORISE = "authorise"
    CONNECT = "connect"
    RESERVE = "reserve"
    INITIATE = "initiate"
    PREPARE = "prepare"
    DISK = "disk"
    MEMORY = "memory"
    SWITCHOVER = "switchover"
    ACTIVATE = "activate"
    JOIN = "join"
    LEAVE = "leave"
    DISCARD = "discard"
    NORMAL = "normal"
    ABORT = "abort"
    DISCONNECT = "disconnect"
    RELEASE = "release"


@dataclass(frozen=True)
class Rule:
    """The side of a step and its limits in seconds: it has failed after `silence` without a report, or after `limit` in
    all."""

    side: Side
    silence: float
    limit: float


RULES: dict[Step, Rule] = {
    Step.AUTHORISE: Rule("controller", 300, 300),
    Step.CONNECT: Rule("controller", 300, 300),
    Step.RESERVE: Rule("controller", 300, 300),
    Step.INITIATE: Rule("destination", 60, 600),
    Step.PREPARE: Rule("destination", 60, 180),
    Step.DISK: Rule("source", 60, 4 * 3600),
    Step.MEMORY: Rule("source", 60, 2 * 3600),
    Step.SWITCHOVER: Rule("source", 60, 120),
    Step.ACTIVATE: Rule("destination", 600, 600),
    Step.JOIN: Rule("destination", 120, 120),
    Step.LEAVE: Rule("destination", 60, 120),
    Step.DISCARD: Rule("source", 60, 180),
    Step.ABORT: Rule("source", 60, 180),
    Step.DISCONNECT: Rule("controller", inf, inf),
    Step.RELEASE: Rule("controller", inf, inf),
}
"""`ABORT` is ordered from either cloudlet. `LEAVE` takes its linger time in addition; in an initiation it is the
source's."""

FORWARD = tuple(step for step in tuple(Step)[: tuple(Step).index(Step.NORMAL) + 1] if step is not Step.INITIATE)

ANEW = (Step.AUTHORISE, Step.CONNECT, Step.RESERVE, Step.INITIATE, Step.LEAVE, Step.DISCARD, Step.NORMAL)
"""The steps forward of an initiation."""

TRIES = 3
"""The number of tries of a step, the first one included."""

BACKOFF = 2.0
"""Seconds before the second try; twice as many before each further one."""


def before(one: Step, other: Step) -> bool:
    """Return whether a step forward comes before another. Steps that clear up come after all of them."""
    return tuple(Step).index(one) < tuple(Step).index(other)
