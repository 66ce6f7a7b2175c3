"""The saga of a move: a pure state machine (design, "From a sighting to a move").

Events come in (what agents report, the time, an operator's wish), and out comes the saga that follows, which says what
is ordered from whom now. Nothing is done here; whoever does it may die at any point and go on from what was kept.
"""

from controller.core.saga.advance import advance, begin, deadline, revocable
from controller.core.saga.events import Admitted, Cancel, Clock, Did, Event, Gone, Hurry, Note, Resumed, Said, Wandered
from controller.core.saga.orders import current, order
from controller.core.saga.state import MoveEnd, Phase, Plan, Saga, Task, dump, load
from controller.core.saga.steps import Step

__all__ = [
    "Admitted",
    "Cancel",
    "Clock",
    "Did",
    "Event",
    "Gone",
    "Hurry",
    "MoveEnd",
    "Note",
    "Phase",
    "Plan",
    "Resumed",
    "Saga",
    "Said",
    "Step",
    "Task",
    "Wandered",
    "advance",
    "begin",
    "current",
    "deadline",
    "dump",
    "load",
    "order",
    "revocable",
]
