"""The change from the old address to the new one: the work of `activate`, `join` and `leave` outside the hypervisor."""

import asyncio
from typing import Protocol

from agents.hypervisors.hypervisor import Hypervisor
from controller.wire.machines import Nic
from controller.wire.moves import Figures, Order

_BLIND = 30.0  # longest linger time in seconds where it is not known whether the address is still used


class Switch(Protocol):
    """The change of a machine's address. Each call may be made again, also after a restart in between. Raises
    HypervisorError for a part that failed."""

    async def activate(self, order: Order) -> None:
        """Connect the waiting vNIC and announce the old address, after the hypervisor's `activate`."""

    async def join(self, order: Order) -> Figures:
        """Wait until the device was seen to join. Raises when its time is over."""

    async def leave(self, order: Order) -> None:
        """Remove the old address and disconnect its vNIC. The address takes no new connections, and stays while it has
        some, for at most its linger time."""

    async def linger(self, order: Order) -> None:
        """Wait until nobody uses the address of a machine that is retired (controller/wire/initiations.py), for at most
        its linger time, then disconnect its vNIC."""


class Plain:
    """The switch for machines whose guests have no agent: only cables and announcements. The guest sees its links
    change and does the rest. Whether the device has joined is not known."""

    def __init__(self, hypervisor: Hypervisor) -> None:
        self._hypervisor = hypervisor

    async def activate(self, order: Order) -> None:
        """Connect the vNICs and announce the machine. A move that keeps the address does not touch the other vNIC."""
        name = order.machine.name
        await self._hypervisor.link(name, order.serving, True)
        if _changes(order):
            await self._hypervisor.link(name, waiting(order), True)
        await self._hypervisor.announce(name)

    async def join(self, order: Order) -> Figures:
        """Return no figures: a join cannot be seen here."""
        return Figures()

    async def leave(self, order: Order) -> None:
        """Wait for the linger time, but not for long, as it cannot be seen whether the address is still used. Then
        disconnect it."""
        if order.addresses is not None and _changes(order):
            await asyncio.sleep(min(order.addresses.linger, _BLIND))
            await self._hypervisor.link(order.machine.name, order.serving, False)

    async def linger(self, order: Order) -> None:
        """Wait and disconnect as `leave` does."""
        await self.leave(order)


def waiting(order: Order) -> Nic:
    """Return the vNIC that does not serve yet."""
    return "b" if order.serving == "a" else "a"


def _changes(order: Order) -> bool:
    return order.addresses is not None and order.addresses.new is not None
