"""One turn of a saga: its changes while an event is taken in, and the notes to store about them."""

from dataclasses import replace
from typing import Any

from controller.core.saga.events import Note
from controller.core.saga.state import Phase, Saga, Task
from controller.core.saga.steps import BACKOFF, TRIES, Side, Step
from controller.wire.moves import Figures


class Turn:
    """`saga` is the present state during the turn."""

    def __init__(self, saga: Saga, now: float) -> None:
        self.saga, self.now = saga, now
        self.notes: list[Note] = []

    def but(self, **changes: Any) -> None:
        """Change some fields."""
        self.saga = replace(self.saga, **changes)

    def note(self, step: Step, state: Any, detail: str = "", figures: Figures | None = None) -> None:
        """Note how a step begins or ends."""
        undoing = self.saga.phase is Phase.UNDOING and not self.saga.copied
        self.notes.append(Note(step, state, undoing, detail[:1000], figures or Figures()))

    def ask(self, side: Side, step: Step) -> None:
        """Order a step from a side, instead of its present task."""
        self.drop(side)
        task = Task(self.saga.number + 1, side, step, self.now, self.now)
        touched = self.saga.touched | ({side} if side != "controller" else set())
        self.but(number=task.number, tasks=(*self.saga.tasks, task), touched=touched, again_at=None)

    def drop(self, *sides: Side) -> None:
        """Withdraw the tasks of these sides."""
        self.but(tasks=tuple(task for task in self.saga.tasks if task.side not in sides))

    def enter(self, step: Step) -> None:
        """Begin a step forward."""
        self.but(step=step, since=self.now)
        self.note(step, "running")
        self.ask(self.saga.plan.side(step), step)

    def again(self, task: Task) -> bool:
        """Return whether a failed task is to be tried again, after a delay. The task is withdrawn until then."""
        tries = self.saga.tries + 1
        self.drop(task.side)
        self.but(tries=tries)
        if tries < TRIES:
            self.but(again_at=self.now + BACKOFF * 2 ** (tries - 1))
        return tries < TRIES

    def because(self, reason: str) -> None:
        """Store the first reason why the move does not end as planned."""
        self.but(reason=self.saga.reason or reason[:1000])

    def finish(self, phase: Phase) -> None:
        """End the move. Tasks that clear away a cloudlet's remains stay ordered."""
        if phase is Phase.DONE:
            self.note(Step.NORMAL, "done", self.saga.reason)
        self.but(phase=phase, since=self.now, again_at=None)
        self.settle()

    def settle(self) -> None:
        """Set the step of an ended move: the one that is still owed, or NORMAL."""
        self.but(step=self.saga.tasks[0].step if self.saga.tasks else Step.NORMAL)
