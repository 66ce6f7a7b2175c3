"""The spans of moves (`wire/tracing.py`). Each task of a move is one, be it the controller's or an agent's; below it
stand the spans of the part that did the task."""

from collections.abc import Iterable

from controller.core.saga import Note, Phase, Saga, Task
from controller.wire import tracing
from controller.wire.tracing import Value, place


def add(before: Saga, after: Saga, notes: Iterable[Note], at: float) -> None:
    """Add the spans of what a transition has ended: tasks, and the move itself. `at`: seconds since 1970."""
    plan = before.plan
    root, ended = place(plan.move), {note.step: note for note in notes if note.state != "running"}
    present = {task.number for task in after.tasks}
    for task in (task for task in before.tasks if task.number not in present):
        note = ended.get(task.step)
        state = note.state if note is not None else "given up"
        of: dict[str, Value] = {"weft.move": plan.move, "weft.vm": plan.machine.name, "weft.state": state}
        of |= {"weft.place": _place(before, task), "weft.undoing": note is not None and note.undoing}
        if note is not None:
            known = note.figures.model_dump(include={"done", "wire", "paused_ms"}, exclude_none=True)
            of |= {f"weft.{name}": value for name, value in known.items()}
        why = "" if state in ("done", "skipped") else (note.detail if note is not None else "") or state
        own = place(plan.move, task.number)
        tracing.record(f"move {task.step}", of, task.since, at, own=own, below=root, failed=why)
    if after.phase.over and not before.phase.over:
        of = {"weft.move": plan.move, "weft.vm": plan.machine.name, "weft.state": str(after.phase)}
        of |= {"weft.source": plan.source.endpoint, "weft.destination": plan.destination.endpoint}
        why = "" if after.phase is Phase.DONE else after.reason or str(after.phase)
        tracing.record("move", of, after.began, at, own=root, beside=plan.asked_in, failed=why)


def _place(saga: Saga, task: Task) -> str:
    """Return the cloudlet that did a task, or `controller`."""
    ends = {"source": saga.plan.source.cloudlet, "destination": saga.plan.destination.cloudlet}
    return ends.get(task.side, task.side)
