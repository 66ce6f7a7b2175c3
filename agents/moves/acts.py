"""What an order is in calls of the driver. Every call may have been made before."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from agents.hypervisors.hypervisor import Fenced, Hypervisor, HypervisorError, Refused
from agents.moves.place import Place
from controller.wire.moves import Figures, Order, Progress, Target

log = logging.getLogger(__name__)

_AGAIN = 1.0  # seconds

Tell = Callable[[Figures], None]


async def carry_out(order: Order, place: Place, tell: Tell) -> Progress:
    """Does it, telling how far it is, and returns how it ended. Whatever goes wrong is an answer, never an error."""
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
    """How an order is. Details are cut to what a report can carry."""
    text = "".join(c if c.isprintable() else " " for c in detail)[:1000]
    given = {"move": order.move, "number": order.number, "act": order.act, "state": state, "detail": text}
    return Progress.model_validate({**given, "figures": figures or Figures()})


async def _do(order: Order, place: Place, tell: Tell) -> Progress:
    driver = await place.driver(order)
    hypervisor, can, switch = driver.hypervisor, driver.capabilities, place.switch(driver)
    machine, move, detail, figures = order.machine, order.move, "", Figures()
    if order.act in ("start", "prepare", "activate"):
        await place.admit(order)
    match order.act:
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
                figures = await _last(hypervisor.disk(machine.name, move, _target(order), order.tuning), tell)
        case "memory":
            figures = await _last(hypervisor.memory(machine.name, move, _target(order), order.tuning), tell)
        case "switchover":
            figures = await hypervisor.switchover(machine.name, move)
        case "activate":
            figures = await _activate(hypervisor, order)
            try:
                await switch.activate(order)
            except HypervisorError as error:
                await _check_alive(hypervisor, machine.name, error)
                # It runs, which is what is to be told: whoever waits for it under its old address may find it yet.
                log.warning("move %s: %s runs, but: %s", move, machine.name, error)
                detail = f"it runs, but: {error}"
        case "join":
            figures = await switch.join(order)
        case "leave":
            await switch.leave(order)
            await place.part(order)
        case "discard":
            await hypervisor.discard(machine.name)
            await place.give_up(order)
        case "abort":
            await hypervisor.abort(machine.name, move)
    if order.act in ("stop", "discard", "abort"):
        await place.dismiss(order)
    return ended(order, "done", detail=detail, figures=figures)


async def _activate(hypervisor: Hypervisor, order: Order) -> Figures:
    """If this fails, the machine does not run: else it would be taken back while it does."""
    name = order.machine.name
    try:
        return await hypervisor.activate(name, order.move)
    except (Fenced, Refused):
        raise
    except Exception as error:
        state = (await hypervisor.machines()).get(name)
        if state is not None and state.condition == "unresponsive":
            await _end(hypervisor, order)
        if state is None or state.condition != "running":
            raise
        log.warning("move %s: %s runs, though the driver said: %s", order.move, name, error)
        return Figures()


async def _end(hypervisor: Hypervisor, order: Order) -> None:
    """Nobody knows whether the machine runs here: nothing is said of it before there is none."""
    while True:
        try:
            return await hypervisor.abort(order.machine.name, order.move)
        except HypervisorError as error:
            log.error("move %s: %s may run, and cannot be ended: %s", order.move, order.machine.name, error)
        await asyncio.sleep(_AGAIN)


async def _check_alive(hypervisor: Hypervisor, name: str, error: HypervisorError) -> None:
    """Raises if the machine has ended in the meantime: then it can still go on where it was."""
    try:
        state = (await hypervisor.machines()).get(name)
    except HypervisorError:
        return
    if state is None or state.condition in ("stopped", "gone"):
        raise HypervisorError(f"{name} ran, and ended at once: {error}") from error


async def hold(order: Order, place: Place) -> Hypervisor:
    """The machine does not run. Raises HypervisorError."""
    hypervisor = (await place.driver(order)).hypervisor
    await hypervisor.hold(order.machine.name)
    return hypervisor


def _target(order: Order) -> Target:
    if order.target is None:
        raise Refused(f"the order to copy the {order.act} does not say where to")
    return order.target


async def _last(transfer: AsyncIterator[Figures], tell: Tell) -> Figures:
    """The last figures of a transfer."""
    figures = Figures()
    async for figures in transfer:
        tell(figures)
    return figures
