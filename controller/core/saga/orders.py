"""The orders of a saga to a cloudlet, in the form that its agent knows."""

from controller.core.saga.state import Saga
from controller.core.saga.steps import Side, Step
from controller.wire.moves import Act, Addresses, Order

ACTS: dict[Step, Act] = {
    Step.INITIATE: "initiate",
    Step.PREPARE: "prepare",
    Step.DISK: "disk",
    Step.MEMORY: "memory",
    Step.SWITCHOVER: "switchover",
    Step.ACTIVATE: "activate",
    Step.JOIN: "join",
    Step.LEAVE: "leave",
    Step.DISCARD: "discard",
    Step.ABORT: "abort",
}


def order(saga: Saga, side: Side) -> Order | None:
    """Return the present order to the source or the destination."""
    task, plan = saga.task(side), saga.plan
    if task is None:
        return None
    own, peer = (plan.source, plan.destination) if side == "source" else (plan.destination, plan.source)
    # A source that discards the machine gives up its old address, unless the VM has kept that.
    new = saga.new if saga.changed or task.step is not Step.DISCARD else None
    return Order(
        move=plan.move,
        number=task.number,
        act=ACTS[task.step],
        machine=plan.machine,
        endpoint=own.endpoint,
        peer=peer.cloudlet,
        peer_vtep=peer.vtep,
        serving=plan.serving,
        target=saga.target if side == "source" else None,
        addresses=Addresses(
            old=plan.old, new=new, device=saga.device_address, linger=0.0 if saga.hurried else plan.linger
        ),
        tuning=plan.tuning,
        fence_seconds=plan.fence_seconds,
        initiation=plan.initiation,
    )


def current(saga: Saga, side: Side, number: int) -> bool:
    """Return whether that order is still in force."""
    task = saga.task(side)
    return task is not None and task.number == number
