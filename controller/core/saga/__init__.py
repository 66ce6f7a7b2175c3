"""The saga of a move: a pure state machine (design, "From a sighting to a move").

The input is an event (an agent's report, the time, an operator's wish), the output the next saga, which contains the
present orders and their receivers. The saga does nothing itself; its executor may crash at any point and continue from
the stored state."""

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
