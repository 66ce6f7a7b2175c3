"""The handling of tasks without a report for too long, or that take too long."""

from math import inf

from controller.core.saga.forward import failed, go_on, hurry, owe, stay_known, wind_up
from controller.core.saga.state import Phase, Saga, Task, owed
from controller.core.saga.steps import RULES, Step
from controller.core.saga.turn import Turn
from controller.core.saga.undo import owing, undo


def at(saga: Saga, task: Task) -> float:
    """Return when a task is late. A task that the move does not wait for is ordered again after a while if it failed,
    and otherwise never late."""
    rule = RULES[task.step]
    if owed(saga, task):
        return task.heard + rule.silence if task.failed else inf
    silence, limit = rule.silence, rule.limit
    if (task.step is Step.SWITCHOVER and task.begun) or (task.step is Step.ACTIVATE and not task.begun):
        silence = 2 * saga.plan.fence_seconds
    if task.step is Step.LEAVE and not saga.hurried:
        limit += saga.plan.linger
    return min(task.heard + silence, task.since + limit)


def late(turn: Turn, task: Task) -> None:
    """Handle a late task: order it again if the move does not wait for it, otherwise go on without it."""
    silent = turn.now - task.heard
    why = f"no word for {silent:.0f} s" if silent >= 1 else f"not done within {turn.now - task.since:.0f} s"
    if owed(turn.saga, task):
        turn.ask(task.side, task.step)
        return
    match task.step:
        case Step.SWITCHOVER if task.begun and silent >= 2 * turn.saga.plan.fence_seconds:
            _without_source(turn, why)
        case Step.ACTIVATE if task.begun:
            _lost(turn, why)
        case Step.ACTIVATE:
            turn.note(task.step, "failed", why)
            undo(turn, f"{turn.saga.plan.destination.cloudlet} could not be told to run the VM: {why}")
        case Step.JOIN:
            turn.note(task.step, "failed", why)
            stay_known(turn, Step.JOIN, "")
        case Step.LEAVE if silent < RULES[task.step].silence and not turn.saga.hurried:
            hurry(turn, "its time is over")
        case Step.LEAVE:
            turn.note(task.step, "failed", why)
            stay_known(turn, Step.LEAVE, why)
        case Step.DISCARD:
            turn.note(task.step, "failed", why)
            owe(turn)
        case Step.ABORT:
            left(turn, task, why)
        case _:
            failed(turn, task, why, final=task.side == "controller")


def _without_source(turn: Turn, why: str) -> None:
    """Continue without the source: it has been cut off for so long that it has stopped the VM there by itself. If it
    had handed everything over, the destination can go on."""
    turn.note(Step.SWITCHOVER, "failed", f"{turn.saga.plan.source.cloudlet}: {why}; it is gone on without it")
    turn.drop("source")
    turn.but(committed="silent", tries=0)
    go_on(turn, Step.SWITCHOVER)


def left(turn: Turn, task: Task, why: str) -> None:
    """Handle a cloudlet that does not undo its part now. If it is a destination that has begun to run the VM, only it
    knows whether the VM runs there: the source keeps its part until the destination reports that it does not."""
    if task.side == "source" or not turn.saga.begun:
        owing(turn, task, why)
        return
    where = turn.saga.plan.destination.cloudlet
    turn.note(Step.ABORT, "failed", f"{where}: {why}")
    turn.because(f"{where} may run the VM, and has not said that it does not")
    turn.but(phase=Phase.MOVING, placed=True, tries=0, again_at=None)
    wind_up(turn)


def _lost(turn: Turn, why: str) -> None:
    """Handle a destination that began to run the VM and then fell silent. It is the only one that may run the VM, and
    the source keeps its part until the destination reports again."""
    where = turn.saga.plan.destination.cloudlet
    turn.note(Step.ACTIVATE, "failed", why)
    turn.because(f"{where} was not heard of any more when it began to run the VM, which is there")
    turn.but(placed=True, tries=0, again_at=None)
    wind_up(turn)
