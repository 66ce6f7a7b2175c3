"""The calls of the driver for each order. Every call may have been made before."""

import logging
from collections.abc import AsyncIterator, Callable

from agents.hypervisors.hypervisor import Hypervisor, HypervisorError, Introduced, Networked, Refused
from agents.moves.activation import activate
from agents.moves.execution_context import ExecutionContext
from agents.moves.initiation import initiate, remove, retire
from controller.wire.moves import Figures, Order, Progress, Target

log = logging.getLogger(__name__)

Tell = Callable[[Figures], None]


async def carry_out(order: Order, place: ExecutionContext, tell: Tell) -> Progress:
    """Carry out the order, report its progress by `tell`, and return how it ended. Every error becomes an answer;
    nothing is raised."""
    try:
        return await _do(order, place, tell)
    except Refused as refused:
        return ended(order, "refused", detail=str(refused))
    except HypervisorError as error:
        return ended(order, "failed", detail=str(error))
    except Exception as error:
        log.exception("order %d of move %s, %s of %s", order.number, order.move, order.act, order.machine.name)
        text = f"a defect of the driver {order.machine.driver}, or of the agent; its log has more: "
        return ended(order, "failed", detail=text + type(error).__name__)


def ended(order: Order, state: str, *, detail: str = "", figures: Figures | None = None) -> Progress:
    """Return the progress of an order. Details are cut to the length that a report allows."""
    text = "".join(c if c.isprintable() else " " for c in detail)[:1000]
    given = {"move": order.move, "number": order.number, "act": order.act, "state": state, "detail": text}
    return Progress.model_validate({**given, "figures": figures or Figures()})


async def _do(order: Order, place: ExecutionContext, tell: Tell) -> Progress:
    driver = await place.driver(order)
    hypervisor, can, switch = driver.hypervisor, driver.capabilities, place.switch(driver)
    machine, move, detail, figures = order.machine, order.move, "", Figures()
    if order.act in ("start", "prepare"):
        await place.admit(order)
    if isinstance(hypervisor, Introduced) and order.peer is not None:
        hypervisor.introduce(move, order.peer)
    match order.act:
        case "initiate":
            figures = await initiate(order, place, driver)
        case "leave" if order.initiation is not None:
            await retire(order, place, driver)
            detail = await _part(order, place)
        case "discard" | "abort" if order.initiation is not None:
            await remove(order, place, driver)
        case "start":
            await hypervisor.start(machine, await place.attachment(order), order.serving)
        case "stop":
            await hypervisor.stop(machine.name)
        case "prepare":
            if machine.disk is not None and not can.disk:
                raise Refused(f"the driver {driver.name} cannot move disks")
            attachment = await place.attachment(order)
            target = await hypervisor.prepare(machine, attachment, order.serving, move, order.tuning)
            await place.expect(order)
            return Progress(move=move, number=order.number, act="prepare", state="done", target=target)
        case "disk":
            if machine.disk is not None:
                where = _target(order, hypervisor)
                figures = await _last(hypervisor.disk(machine.name, move, where, order.tuning), tell)
        case "memory":
            where = _target(order, hypervisor)
            figures = await _last(hypervisor.memory(machine.name, move, where, order.tuning), tell)
        case "switchover":
            figures = await hypervisor.switchover(machine.name, move)
        case "activate":
            figures, detail = await activate(order, place, driver)
        case "join":
            figures = await switch.join(order)
        case "leave":
            await switch.leave(order)
            detail = await _part(order, place)
        case "discard":
            await hypervisor.discard(machine.name)
            await place.give_up(order)
        case "abort":
            await hypervisor.abort(machine.name, move)
    if order.act in ("stop", "discard", "abort"):
        await place.dismiss(order)
    return ended(order, "done", detail=detail, figures=figures)


async def _part(order: Order, place: ExecutionContext) -> str:
    """Let the gateway forget the old address. Return the text of an error, "" if there was none: the old address is
    gone even if the gateway does not forget it."""
    try:
        await place.part(order)
    except Exception as error:
        log.exception("move %s: the gateway of %s", order.move, order.endpoint)
        return f"the gateway may not have forgotten the old address: {type(error).__name__}"
    return ""


async def hold(order: Order, place: ExecutionContext) -> Hypervisor:
    """Make sure that the machine does not run. Raises HypervisorError."""
    hypervisor = (await place.driver(order)).hypervisor
    await hypervisor.hold(order.machine.name)
    return hypervisor


def _target(order: Order, hypervisor: Hypervisor) -> Target:
    """Return where the order says to copy to. Raises Refused if it names no target, or one that is not its peer's."""
    if order.target is None:
        raise Refused(f"the order to copy the {order.act} does not say where to")
    if isinstance(hypervisor, Networked):
        if order.peer_vtep is None:
            raise Refused(f"the order to copy the {order.act} does not say at which address the other cloudlet is")
        hypervisor.check(order.machine, order.target, order.peer_vtep)
    return order.target


async def _last(transfer: AsyncIterator[Figures], tell: Tell) -> Figures:
    """Pass on the figures of a transfer by `tell`, and return the last ones."""
    figures = Figures()
    async for figures in transfer:
        tell(figures)
    return figures
