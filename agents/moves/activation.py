"""The point of no return. Once the machine runs at the destination, nothing that goes wrong there counts as a failure
of the move, not even that the machine ends at once. Otherwise the source would run its older state again, while others
have already seen newer state."""

import asyncio
import logging

from agents.hypervisors.found import Driver
from agents.hypervisors.hypervisor import Fenced, Hypervisor, HypervisorError, Refused
from agents.moves.execution_context import ExecutionContext
from controller.wire.machines import Condition, MachineState
from controller.wire.moves import Figures, Order

log = logging.getLogger(__name__)

_AGAIN = 1.0  # seconds between two looks, or two tries
_LOOK = 10.0  # seconds for a driver to list its machines
_SWITCHING = 120.0  # seconds for cables, announcements and the guest; a guest has some 40 for its own part
_RAN: tuple[Condition, ...] = ("running", "stopped", "unresponsive")
"""The conditions of a machine that was told to run."""


async def activate(order: Order, place: ExecutionContext, driver: Driver) -> tuple[Figures, str]:
    """Return the figures, and a text about errors although the machine runs or has run; "" if there were none. Raises
    only if this move never ran the machine here, which was checked."""
    hypervisor, figures, wrong = driver.hypervisor, Figures(), []
    try:
        await place.admit(order)
    except Exception as error:
        if await _ran(hypervisor, order) is None:
            raise
        wrong.append(_said(order, error))
    else:
        figures, trouble = await _run(hypervisor, order)
        wrong += [trouble] if trouble else []
    try:
        async with asyncio.timeout(_SWITCHING):
            await place.switch(driver).activate(order)
    except Exception as error:
        wrong.append(_said(order, error))
    if not wrong:
        return figures, ""
    return figures, f"{await _now(hypervisor, order)}: {'; '.join(wrong)}"


async def _run(hypervisor: Hypervisor, order: Order) -> tuple[Figures, str]:
    """Run the machine. Raises only if the machine has not run: otherwise the source would run it again."""
    try:
        figures = await hypervisor.activate(order.machine.name, order.move)
    except Exception as error:
        if await _ran(hypervisor, order) is None:
            if isinstance(error, (Fenced, Refused)):
                raise
            state = await _look(hypervisor, order)
            if state is not None and state.condition == "unresponsive":
                await _end(hypervisor, order)
            if state is None or state.condition != "running":
                raise
        return Figures(), _said(order, error)
    return (figures if isinstance(figures, Figures) else Figures()), ""


async def _ran(hypervisor: Hypervisor, order: Order) -> MachineState | None:
    """Return the machine if this move made it run here, even if it has ended since; an order may be carried out a
    second time. None if not, or if the driver cannot say."""
    state = await _look(hypervisor, order)
    if state is None or state.condition not in _RAN:
        return None
    try:
        async with asyncio.timeout(_LOOK):
            return state if await hypervisor.arrived(order.machine.name, order.move) else None
    except Exception as error:
        log.warning("move %s: whether %s has run here cannot be seen: %r", order.move, order.machine.name, error)
        return None


async def _look(hypervisor: Hypervisor, order: Order) -> MachineState | None:
    """Return the machine, or None, as soon as the driver lists its machines: nothing can be said about it before. The
    controller waits, and lets no other cloudlet run the machine."""
    while True:
        try:
            async with asyncio.timeout(_LOOK):
                return (await hypervisor.machines()).get(order.machine.name)
        except Exception as error:
            log.error("move %s: whether %s runs cannot be seen: %r", order.move, order.machine.name, error)
        await asyncio.sleep(_AGAIN)


async def _end(hypervisor: Hypervisor, order: Order) -> None:
    """Abort the move here, as it is not known whether the machine runs. Return only when the driver confirms: nothing
    can be said about the machine before."""
    while True:
        try:
            return await hypervisor.abort(order.machine.name, order.move)
        except Exception as error:
            log.error("move %s: %s may run, and cannot be ended: %r", order.move, order.machine.name, error)
        await asyncio.sleep(_AGAIN)


async def _now(hypervisor: Hypervisor, order: Order) -> str:
    """Return the first words of the report about a machine that was run and has something to report."""
    try:
        async with asyncio.timeout(_LOOK):
            state = (await hypervisor.machines()).get(order.machine.name)
    except Exception:
        return "it runs, but"  # it was run, and the driver does not say that it has ended
    if state is not None and state.condition not in ("stopped", "gone"):
        return "it runs, but"
    why = f" ({state.detail})" if state is not None and state.detail else ""
    log.warning("move %s: %s ran, and ended by itself%s", order.move, order.machine.name, why)
    return f"it ran, and ended by itself{why}"


def _said(order: Order, error: Exception) -> str:
    """Log the error, and return it as a text for users. Peers may still find the machine at its old address later."""
    if isinstance(error, HypervisorError):
        log.warning("move %s: %s runs, but: %s", order.move, order.machine.name, error)
        return str(error)
    if isinstance(error, TimeoutError):
        log.warning("move %s: %s runs, but it took too long to tell its neighbours", order.move, order.machine.name)
        return f"its neighbours could not be told within {_SWITCHING:g} s"
    log.error("move %s: %s runs, but", order.move, order.machine.name, exc_info=error)
    return f"a defect of the driver {order.machine.driver}, or of the agent; its log has more: {type(error).__name__}"
