"""The way back: as if there had been no move, or back to where it can be tried again. A move that was to copy only
comes this way to its good end."""

from controller.core.saga.state import Phase, Saga, Task
from controller.core.saga.steps import BACKOFF, Side, Step
from controller.core.saga.turn import Turn

PAUSE = 5.0
"""Seconds from a failure to the first try from the beginning; twice as many to the one after it."""

LONGEST = 60.0
"""The most seconds between two tries: undoing is tried for as long as it takes."""


def undo(turn: Turn, why: str, *, ready: bool = False) -> None:
    """Begin to undo the move. `ready`: to try again from the preparation on."""
    turn.drop("controller", "source", "destination")
    if not ready:
        turn.because(why)
        turn.but(tries=0)
    pause = PAUSE * 2 ** max(turn.saga.tries - 1, 0)
    turn.but(phase=Phase.UNDOING, ready=ready, ready_at=turn.now + pause, since=turn.now, again_at=None)
    turn.but(cleared=frozenset())
    unwind(turn)


def unwind(turn: Turn) -> None:
    """Order the next steps of undoing. The destination comes first if it might have run the VM; otherwise both
    cloudlets go at the same time, so that neither waits for the other. The source of copies that are kept comes first:
    its end of the line ends the destination's."""
    for side in _next(turn.saga):
        task = turn.saga.task(side)
        if task is None and turn.saga.again_at is None:
            turn.but(step=Step.ABORT)
            turn.note(Step.ABORT, "running", _where(turn.saga, side))
            turn.ask(side, Step.ABORT)
    saga = turn.saga
    if saga.touched - saga.cleared or saga.task("controller") or saga.again_at is not None:
        return
    if saga.ready and turn.now < saga.ready_at:
        turn.but(again_at=saga.ready_at)
    elif saga.ready:
        turn.but(phase=Phase.MOVING, ready=False, touched=frozenset(), cleared=frozenset(), target=None)
        turn.enter(Step.PREPARE if saga.plan.initiation is None else Step.INITIATE)
    elif saga.pool is not None:
        own(turn, Step.DISCONNECT)
    elif saga.pair is not None:
        own(turn, Step.RELEASE)
    else:
        turn.finish(Phase.DONE if saga.copied else Phase.UNDONE)


def _next(saga: Saga) -> list[Side]:
    left = saga.touched - saga.cleared
    if saga.committed and "destination" in left:
        return ["destination"]
    if saga.copied and "source" in left:
        return ["source"]
    return sorted(left)


def own(turn: Turn, step: Step) -> None:
    """Order a step from the controller itself."""
    turn.but(step=step)
    turn.note(step, "running")
    turn.ask("controller", step)


def _where(saga: Saga, side: Side) -> str:
    return (saga.plan.source if side == "source" else saga.plan.destination).cloudlet


def cleared(turn: Turn, task: Task, detail: str = "") -> None:
    """Take in that one cloudlet has undone its part."""
    turn.note(Step.ABORT, "done", detail or _where(turn.saga, task.side))
    turn.drop(task.side)
    turn.but(cleared=turn.saga.cleared | {task.side})
    unwind(turn)


def owing(turn: Turn, task: Task, detail: str) -> None:
    """Stop waiting for a cloudlet that does not undo its part now; it does so whenever it can. As something is left
    there, the move is not tried again."""
    where = _where(turn.saga, task.side)
    turn.note(Step.ABORT, "failed", f"{where}: {detail}")
    turn.because(f"{where} has still to clear away what is left of the move")
    turn.but(cleared=turn.saga.cleared | {task.side}, ready=False)
    unwind(turn)


def without(turn: Turn, side: Side) -> None:
    """Stop waiting for a cloudlet that was removed: it has nothing to undo."""
    turn.drop(side)
    turn.but(cleared=turn.saga.cleared | {side}, ready=False, again_at=None)
    unwind(turn)


def gone_back(turn: Turn, task: Task) -> None:
    """Take in that the controller has undone its part."""
    turn.note(task.step, "done")
    turn.drop("controller")
    turn.but(tries=0, **({"pool": None} if task.step is Step.DISCONNECT else {"pair": None}))
    unwind(turn)


def once_more(turn: Turn, task: Task, detail: str) -> None:
    """Try a failed undoing task again after a while."""
    turn.note(task.step, "failed", detail)
    tries = turn.saga.tries + 1
    turn.drop(task.side)
    turn.but(tries=tries, again_at=turn.now + min(BACKOFF * 2 ** (tries - 1), LONGEST))
