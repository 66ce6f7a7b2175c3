"""A machine that starts anew beside the one that serves (controller/wire/initiations.py), and the end of the older
one."""

import asyncio
import logging

from agents.hypervisors.found import Driver
from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.moves.execution_context import ExecutionContext
from agents.moves.service_check import answers
from agents.moves.switch import waiting
from controller.wire.initiations import Initiation
from controller.wire.moves import Figures, Order

log = logging.getLogger(__name__)

PATIENCE = 300.0
"""Seconds for the machine's service to answer, and again for its handover."""

_AGAIN = 0.5  # seconds between two tries


async def initiate(order: Order, place: ExecutionContext, driver: Driver) -> Figures:
    """Start the machine on the vNIC that does not serve at the source, wait for its service, and let it take over the
    application's state. Return how long that took. Raises Refused if there is a machine of that name that this
    initiation did not start."""
    initiation, machine, hypervisor = order.initiation, order.machine, driver.hypervisor
    new = order.addresses.new if order.addresses is not None else None
    if initiation is None or new is None:
        raise Refused(f"the order to start {machine.name} anew does not say how, or at which address")
    if initiation.handover is not None and not driver.capabilities.guest:
        raise Refused(f"the driver {driver.name} runs no programs in guests, such as {initiation.handover}")
    began = asyncio.get_running_loop().time()
    if not place.made(order):
        if machine.name in await hypervisor.machines():
            raise Refused(f"there is a machine {machine.name} already, which this initiation has not started")
        await place.make(order)
    attachment = await place.attachment(order)
    # It may use what it leases here; the old address is the other machine's.
    await place.admit(order.model_copy(update={"addresses": None}))
    await place.expect(order)
    await hypervisor.start(machine, attachment, waiting(order))
    await _served(order, place, driver, initiation, new, attachment.bridge)
    if initiation.handover is not None and order.addresses is not None:
        said = await hypervisor.guest(machine.name, initiation.handover, order.addresses.old, new, seconds=PATIENCE)
        log.info("move %s: %s has taken over: %s", order.move, machine.name, said.strip()[:200])
    return Figures(seconds=asyncio.get_running_loop().time() - began)


async def _served(
    order: Order, place: ExecutionContext, driver: Driver, initiation: Initiation, new: str, bridge: str
) -> None:
    """Wait until the machine serves. Raises HypervisorError with the last reason why it does not."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE
    while True:
        try:
            await _runs(order, driver)
            if not place.leased(order, new):
                raise HypervisorError(f"{order.machine.name} has not leased {new}")
            if initiation.check is not None:
                await answers(initiation.check, new, bridge)
        except Refused:
            raise
        except HypervisorError as error:
            if loop.time() >= until:
                raise HypervisorError(f"its service is not there after {PATIENCE:g} s: {error}") from error
        else:
            return
        await asyncio.sleep(_AGAIN)


async def _runs(order: Order, driver: Driver) -> None:
    name = order.machine.name
    state = (await driver.hypervisor.machines()).get(name)
    if state is None or state.condition in ("stopped", "gone"):
        why = f" ({state.detail})" if state is not None and state.detail else ""
        raise Refused(f"{name} was started, and ended by itself{why}")
    if state.condition != "running":
        raise HypervisorError(f"{name} is {state.condition}")


async def retire(order: Order, place: ExecutionContext, driver: Driver) -> None:
    """Wait until no connection uses the older machine's address, for at most its linger time, and disconnect it. A
    machine that does not run has no connections."""
    state = (await driver.hypervisor.machines()).get(order.machine.name)
    if state is not None and state.condition == "running":
        await place.switch(driver).linger(order)


async def remove(order: Order, place: ExecutionContext, driver: Driver) -> None:
    """Remove the older machine of an initiation, running or not; in an `abort`, the newer one, if this initiation has
    started it. End its lease."""
    name, hypervisor = order.machine.name, driver.hypervisor
    if order.act == "abort" and not place.made(order):
        return
    if name in await hypervisor.machines():
        await hypervisor.stop(name)
    await hypervisor.discard(name)  # a driver may not list a machine of which only the disk is left
    if order.act != "abort":
        await place.give_up(order)
    elif order.addresses is not None and order.addresses.new is not None:
        addresses = order.addresses.model_copy(update={"old": order.addresses.new})
        await place.give_up(order.model_copy(update={"addresses": addresses, "serving": waiting(order)}))
