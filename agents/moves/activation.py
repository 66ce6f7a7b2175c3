"""The point of no return: from when the machine runs at the destination, nothing that goes wrong there is a failure.
The source would get its older state back, and the one that runs would be thrown away."""

import asyncio
import logging

from agents.hypervisors.found import Driver
from agents.hypervisors.hypervisor import Fenced, Hypervisor, HypervisorError, Refused
from agents.moves.place import Place
from controller.wire.machines import MachineState
from controller.wire.moves import Figures, Order

log = logging.getLogger(__name__)

_AGAIN = 1.0  # seconds from one look, or try, to the next
_LOOK = 10.0  # seconds for a driver to list its machines
_SWITCHING = 120.0  # seconds for cables, announcements and the guest; a guest has some 40 for its own part


async def activate(order: Order, place: Place, driver: Driver) -> tuple[Figures, str]:
    """Return the figures, and what went wrong though the machine runs; "" if nothing did. Raises only if the machine
    does not run here, which was looked at."""
    hypervisor, figures, wrong = driver.hypervisor, Figures(), []
    try:
        await place.admit(order)
    except Exception as error:
        if not await _brought_and_runs(hypervisor, order):
            raise
        wrong.append(_said(order, error))
    else:
        figures, trouble = await _run(hypervisor, order)
        wrong += [trouble] if trouble else []
    try:
        async with asyncio.timeout(_SWITCHING):
            await place.switch(driver).activate(order)
    except Exception as error:
        await _check_alive(hypervisor, order.machine.name, error)
        wrong.append(_said(order, error))
    return figures, f"it runs, but: {'; '.join(wrong)}" if wrong else ""


async def _run(hypervisor: Hypervisor, order: Order) -> tuple[Figures, str]:
    """If this raises, the machine does not run: else it would be taken back while it does."""
    try:
        figures = await hypervisor.activate(order.machine.name, order.move)
    except (Fenced, Refused) as error:
        if not await _brought_and_runs(hypervisor, order):
            raise
        return Figures(), _said(order, error)
    except Exception as error:
        state = await _look(hypervisor, order)
        if state is not None and state.condition == "unresponsive":
            await _end(hypervisor, order)
        if state is None or state.condition != "running":
            raise
        return Figures(), _said(order, error)
    return (figures if isinstance(figures, Figures) else Figures()), ""


async def _brought_and_runs(hypervisor: Hypervisor, order: Order) -> bool:
    """Whether it is this move that the machine runs here by: an order may be carried out for a second time."""
    state = await _look(hypervisor, order)
    if state is None or state.condition != "running":
        return False
    try:
        return await hypervisor.arrived(order.machine.name, order.move)
    except HypervisorError:
        return False


async def _look(hypervisor: Hypervisor, order: Order) -> MachineState | None:
    """Return once somebody can tell: without that nothing can be said of the machine. The controller waits, and makes
    nobody else run it."""
    while True:
        try:
            async with asyncio.timeout(_LOOK):
                return (await hypervisor.machines()).get(order.machine.name)
        except Exception as error:
            log.error("move %s: whether %s runs cannot be seen: %r", order.move, order.machine.name, error)
        await asyncio.sleep(_AGAIN)


async def _end(hypervisor: Hypervisor, order: Order) -> None:
    """Nobody knows whether the machine runs here: nothing is said of it before there is none."""
    while True:
        try:
            return await hypervisor.abort(order.machine.name, order.move)
        except Exception as error:
            log.error("move %s: %s may run, and cannot be ended: %r", order.move, order.machine.name, error)
        await asyncio.sleep(_AGAIN)


async def _check_alive(hypervisor: Hypervisor, name: str, error: Exception) -> None:
    """Raises if the machine has ended in the meantime: then it can still go on where it was."""
    try:
        async with asyncio.timeout(_LOOK):
            state = (await hypervisor.machines()).get(name)
    except Exception:
        return  # it ran, and nobody says that it does not
    if state is None or state.condition in ("stopped", "gone"):
        raise HypervisorError(f"{name} ran, and ended at once: {error}") from error


def _said(order: Order, error: Exception) -> str:
    """In the log, and for people: whoever waits for the machine under its old address may find it yet."""
    if isinstance(error, HypervisorError):
        log.warning("move %s: %s runs, but: %s", order.move, order.machine.name, error)
        return str(error)
    if isinstance(error, TimeoutError):
        log.warning("move %s: %s runs, but it took too long to tell its neighbours", order.move, order.machine.name)
        return f"its neighbours could not be told within {_SWITCHING:g} s"
    log.error("move %s: %s runs, but", order.move, order.machine.name, exc_info=error)
    return f"a defect of the driver {order.machine.driver}, or of the agent; its log has more: {type(error).__name__}"
