"""The transitions of a saga on events."""

from dataclasses import replace
from math import inf

from controller.core.saga import late
from controller.core.saga.events import Admitted, Cancel, Clock, Did, Event, Gone, Hurry, Note, Resumed, Said, Wandered
from controller.core.saga.forward import cleared_up, done, failed, go_on, hurry, stay_known, wind_up
from controller.core.saga.state import Phase, Plan, Saga, Task, owed
from controller.core.saga.steps import Side, Step, before
from controller.core.saga.turn import Turn
from controller.core.saga.undo import cleared, gone_back, once_more, undo, unwind, without

PATIENCE = 5
"""The failures of a cloudlet to undo its part after which it is not waited for."""


def begin(plan: Plan, now: float) -> Saga:
    """Return the saga of a move that waits to be admitted."""
    return Saga(plan, began=now, since=now)


def deadline(saga: Saga) -> float | None:
    """Return the next time at which the clock matters; None if there is none."""
    times = [late.at(saga, task) for task in saga.tasks]
    if saga.again_at is not None:
        times.append(saga.again_at)
    soonest = min(times, default=inf)
    return None if soonest == inf else soonest


def advance(saga: Saga, event: Event, now: float) -> tuple[Saga, tuple[Note, ...]]:
    """Return the saga after the event, and the notes to store. An event about nothing that was ordered changes
    nothing."""
    turn = Turn(saga, now)
    match event:
        case Admitted():
            if saga.phase is Phase.WAITING:
                turn.but(phase=Phase.MOVING)
                turn.enter(Step.AUTHORISE)
        case Said(side=side, number=number):
            if (task := saga.task(side)) and task.number == number:
                _said(turn, task, event)
        case Did(number=number):
            if (task := saga.task("controller")) and task.number == number:
                _did(turn, task, event)
        case Clock():
            _clock(turn)
        case Resumed():
            turn.but(tasks=tuple(replace(task, heard=now) for task in saga.tasks))
        case Cancel(why=why):
            _cancel(turn, why)
        case Hurry(why=why):
            hurry(turn, why)
        case Wandered(endpoint=endpoint):
            _wandered(turn, endpoint)
        case Gone(side=side):
            _gone(turn, side)
    return turn.saga, tuple(turn.notes)


def revocable(saga: Saga) -> bool:
    """Return whether the move can still be cancelled."""
    if saga.phase is Phase.MOVING:
        return before(saga.step, Step.SWITCHOVER)
    return saga.phase is Phase.WAITING or (saga.phase is Phase.UNDOING and saga.ready)


def _said(turn: Turn, task: Task, event: Said) -> None:
    if task.step is Step.ACTIVATE:
        turn.but(begun=True)
    if event.state == "running":
        _change(turn, replace(task, heard=turn.now, begun=True))
        turn.but(figures=turn.saga.figures | {task.step: event.figures})
    elif owed(turn.saga, task):
        _paid(turn, task, event)
    elif task.step is Step.ABORT:
        if event.state == "done":
            cleared(turn, task)
        elif event.state == "refused" or turn.saga.tries >= PATIENCE:
            _change(turn, replace(task, heard=turn.now, failed=True))
            late.left(turn, task, event.detail)
        else:
            once_more(turn, task, event.detail)
    elif event.state == "done":
        done(turn, task, event)
    else:
        failed(turn, task, event.detail, final=event.state == "refused")


def _paid(turn: Turn, task: Task, event: Said) -> None:
    """Take in the report of a cloudlet about a task that the move does not wait for."""
    if event.state == "done" and task.step is Step.ABORT and turn.saga.placed:
        _given_back(turn, task, event)
        return
    if event.state == "done":
        turn.note(task.step, "done", "later than it was waited for")
        turn.drop(task.side)
        if task.step is Step.ACTIVATE:
            turn.ask("source", Step.DISCARD)
        elif task.step is Step.DISCARD and turn.saga.plan.initiation is not None:
            turn.but(swapped=True)
    elif task.step is Step.ACTIVATE:
        _given_back(turn, task, event)
        return
    elif not task.failed:
        _change(turn, replace(task, heard=turn.now, failed=True))
    if turn.saga.phase.over:
        turn.settle()


def _given_back(turn: Turn, task: Task, event: Said) -> None:
    """Undo the move: a destination that might have run the VM reports that it does not."""
    turn.note(task.step, event.state, event.detail)
    turn.but(placed=False)
    undo(turn, event.detail)


def _did(turn: Turn, task: Task, event: Did) -> None:
    if task.step in (Step.DISCONNECT, Step.RELEASE):
        if turn.saga.phase is not Phase.UNDOING:
            cleared_up(turn, task, event)
        elif event.state == "done":
            gone_back(turn, task)
        else:
            once_more(turn, task, event.detail)
    elif event.state == "done":
        done(turn, task, event)
    else:
        failed(turn, task, event.detail, final=event.state == "refused")


def _clock(turn: Turn) -> None:
    if turn.saga.again_at is not None and turn.now >= turn.saga.again_at:
        turn.but(again_at=None)
        if turn.saga.phase is Phase.UNDOING:
            unwind(turn)
        elif turn.saga.step is Step.RELEASE:
            wind_up(turn)
        else:
            turn.enter(turn.saga.step)
    for number in [task.number for task in turn.saga.tasks]:
        task = next((task for task in turn.saga.tasks if task.number == number), None)
        if task is not None and turn.now >= late.at(turn.saga, task):
            late.late(turn, task)


def _change(turn: Turn, changed: Task) -> None:
    turn.but(tasks=tuple(changed if task.number == changed.number else task for task in turn.saga.tasks))


def _cancel(turn: Turn, why: str) -> None:
    if not revocable(turn.saga):
        return
    match turn.saga.phase:
        case Phase.WAITING:
            turn.because(why)
            turn.finish(Phase.UNDONE)
        case Phase.UNDOING:
            turn.because(why)
            turn.but(ready=False, again_at=None)
            unwind(turn)
        case _:
            undo(turn, why)


def _wandered(turn: Turn, endpoint: str) -> None:
    plan = turn.saga.plan
    if endpoint == plan.destination.endpoint or plan.ahead:
        return
    if turn.saga.leaving:  # the next move waits for the old address to go
        hurry(turn, f"the device was seen at {endpoint}")
    elif endpoint == plan.source.endpoint:
        return
    elif turn.saga.phase is Phase.MOVING and turn.saga.step is Step.JOIN:
        stay_known(turn, Step.JOIN, f"it was seen at {endpoint}")
    else:
        _cancel(turn, f"the device was seen at {endpoint}")


def _gone(turn: Turn, side: Side) -> None:
    """Stop waiting for a cloudlet that was removed."""
    saga = turn.saga
    where = (saga.plan.source if side == "source" else saga.plan.destination).cloudlet
    why = f"{where} was removed from the region"
    turn.drop(side)
    if saga.phase.over:
        turn.settle()
    elif saga.phase is Phase.UNDOING:
        if side not in saga.cleared:
            without(turn, side)
    elif saga.placed and side == "source":
        if saga.step in (Step.LEAVE, Step.DISCARD) and saga.plan.side(saga.step) == "source":
            wind_up(turn)
    elif saga.placed:
        if saga.step in (Step.JOIN, Step.LEAVE):
            turn.because(why)
            turn.but(tries=0, again_at=None)
            go_on(turn, Step.LEAVE)
    elif side == "destination" or not saga.committed:
        undo(turn, why)
        without(turn, side)
