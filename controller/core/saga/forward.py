"""The steps forward: what follows when a step is done or fails."""

from controller.core.saga.events import Did, Said
from controller.core.saga.state import Phase, Saga, Task
from controller.core.saga.steps import TRIES, Step
from controller.core.saga.turn import Turn
from controller.core.saga.undo import once_more, own, undo

LASTING = (Step.PREPARE, Step.DISK, Step.MEMORY)
"""After these steps the count of failures goes on: a later failure starts again with the first of them."""


def done(turn: Turn, task: Task, event: Said | Did) -> None:
    """Take in that a step is done."""
    figures = event.figures if isinstance(event, Said) else None
    turn.note(task.step, "done", event.detail, figures)
    turn.drop(task.side)
    if task.step not in LASTING:
        turn.but(tries=0)
    if isinstance(event, Said) and figures is not None:
        turn.but(figures=turn.saga.figures | {task.step: figures})
        _take(turn, task.step, event)
    elif isinstance(event, Did):
        _keep(turn, task.step, event)
    go_on(turn, task.step)


def _take(turn: Turn, step: Step, event: Said) -> None:
    """Store the result of a cloudlet's step."""
    if step is Step.PREPARE:
        turn.but(target=event.target)
    elif step is Step.SWITCHOVER:
        turn.but(committed="told")
    elif step in (Step.ACTIVATE, Step.INITIATE):
        turn.but(placed=True)
    elif step is Step.LEAVE or (step is Step.DISCARD and turn.saga.plan.initiation is not None):
        turn.but(swapped=True)


def _keep(turn: Turn, step: Step, event: Did) -> None:
    """Store the result of the controller's step."""
    if step is Step.CONNECT:
        turn.but(pool=event.pool, joined=event.joined)
    elif step is Step.RESERVE:
        turn.but(pair=event.pair, held=event.held, new=event.new, device_address=event.device_address)


def go_on(turn: Turn, after: Step) -> None:
    """Enter the next step that this move has, or end the move."""
    if turn.saga.plan.ahead and after is Step.MEMORY:
        _copied(turn)
        return
    steps = turn.saga.plan.steps
    for step in steps[steps.index(after) + 1 :]:
        if step is Step.NORMAL:
            wind_up(turn)
            return
        if not _skipped(turn.saga, step):
            turn.enter(step)
            return
        turn.note(step, "skipped")


def _copied(turn: Turn) -> None:
    """End a move that was to copy only. Copies are kept by ends of a thin line, which tell about pages."""
    figures = turn.saga.figures.get(Step.MEMORY)
    if figures is None or figures.pages is None:
        undo(turn, 'nothing is kept: the drivers carry no thin line (their option compression = "thin")')
        return
    turn.but(copied=True)
    undo(turn, "")


def _skipped(saga: Saga, step: Step) -> bool:
    match step:
        case Step.DISK:
            return saga.plan.machine.disk is None
        case Step.CONNECT:
            return saga.plan.ahead
        case Step.RESERVE:
            return saga.plan.keep or saga.plan.ahead
        case Step.JOIN | Step.LEAVE:
            return saga.plan.initiation is None and (saga.new is None or bool(saga.reason))
        case _:
            return False


def wind_up(turn: Turn) -> None:
    """End a move whose VM is in its final place. Release the reservation of an address that the VM did not get; let the
    source leave the pool that it had joined for the VM's sake, unless the VM may yet come back."""
    saga = turn.saga
    if saga.pair is not None and not saga.changed:
        own(turn, Step.RELEASE)
    elif saga.plan.borrowed is not None and not saga.returned and saga.task("destination") is None:
        own(turn, Step.DISCONNECT)
    else:
        turn.finish(Phase.DONE)


def cleared_up(turn: Turn, task: Task, event: Did) -> None:
    """Take in the end of a clean-up by the controller. If a pool cannot be left now, the move ends nevertheless."""
    if task.step is Step.RELEASE and event.state != "done":
        once_more(turn, task, event.detail)
        return
    turn.note(task.step, event.state, event.detail)
    turn.drop("controller")
    turn.but(tries=0, **({"pair": None} if task.step is Step.RELEASE else {"returned": True}))
    wind_up(turn)


def failed(turn: Turn, task: Task, detail: str, *, final: bool) -> None:
    """Take in the failure of a step; `final`: another try is useless."""
    turn.note(task.step, "refused" if final else "failed", detail)
    why = f"{task.step} failed: {detail}" if detail else f"{task.step} failed"
    match task.step:
        case Step.CONNECT if turn.saga.plan.initiation is not None:
            turn.drop("controller")  # a VM that brings no connections along needs no common pool
            go_on(turn, Step.CONNECT)
        case Step.AUTHORISE | Step.CONNECT | Step.RESERVE | Step.ACTIVATE:
            if final or not turn.again(task):
                undo(turn, why)
        case Step.JOIN | Step.LEAVE:
            if final or not turn.again(task):
                stay_known(turn, task.step, detail)
        case Step.DISCARD:
            if not turn.again(task):
                owe(turn)
        case _:
            turn.but(tries=turn.saga.tries + 1)
            undo(turn, why, ready=not final and turn.saga.tries < TRIES)


def stay_known(turn: Turn, step: Step, detail: str) -> None:
    """Let the VM run at the destination under its old address. In an initiation, that goes with the old machine."""
    if turn.saga.plan.initiation is not None:
        turn.drop("source")
        turn.but(tries=0, again_at=None)
        go_on(turn, step)
        return
    what = "device did not join" if step is Step.JOIN else "the old address could not be taken away"
    turn.drop("destination")
    turn.because(f"{what}; old address kept" + (f" ({detail})" if detail else ""))
    turn.but(tries=0, again_at=None)
    go_on(turn, step)


def hurry(turn: Turn, why: str) -> None:
    """Remove the old address now, even if it is in use: ordered once, and only while it lingers."""
    if turn.saga.leaving and not turn.saga.hurried:
        turn.note(Step.LEAVE, "skipped", f"{turn.saga.plan.old} lingers no longer: {why}")
        turn.but(hurried=True)
        turn.enter(Step.LEAVE)


def owe(turn: Turn) -> None:
    """Let the source clear away its remains whenever it can; the move does not wait for that."""
    turn.because(f"{turn.saga.plan.source.cloudlet} has still to clear away what is left of the machine")
    turn.ask("source", Step.DISCARD)
    turn.but(again_at=None)
    wind_up(turn)
