"""From the old address to the new one: what `activate`, `join` and `leave` do beyond the hypervisor."""

import asyncio
from typing import Protocol

from agents.hypervisors.hypervisor import Hypervisor
from controller.wire.machines import Nic
from controller.wire.moves import Figures, Order

_BLIND = 30.0  # seconds that an address lingers at most where nobody can say whether it is still used


class Switch(Protocol):
    """Each call may be made again, also after a restart in between. Raises HypervisorError for what failed."""

    async def activate(self, order: Order) -> None:
        """After the hypervisor's `activate`: the cable of the waiting vNIC is in, the old address is announced."""

    async def join(self, order: Order) -> Figures:
        """Returns when the device was seen to join; raises after its time."""

    async def leave(self, order: Order) -> None:
        """The old address takes no new connections, lives on while there are some and for at most its linger time,
        then is gone, and the cable of its vNIC is out."""


class Plain:
    """For machines in which nobody listens to us: cables and announcements alone. The guest does the rest by what it
    sees of its links, and whether the device has joined is not known."""

    def __init__(self, hypervisor: Hypervisor) -> None:
        self._hypervisor = hypervisor

    async def activate(self, order: Order) -> None:
        """A move that keeps the address leaves the other vNIC alone."""
        name = order.machine.name
        await self._hypervisor.link(name, order.serving, True)
        if _changes(order):
            await self._hypervisor.link(name, waiting(order), True)
        await self._hypervisor.announce(name)

    async def join(self, order: Order) -> Figures:
        """Nobody can see it."""
        return Figures()

    async def leave(self, order: Order) -> None:
        """Lingers first: for its time, but not for long, as nobody can say whether anything hangs on the address."""
        if order.addresses is not None and _changes(order):
            await asyncio.sleep(min(order.addresses.linger, _BLIND))
            await self._hypervisor.link(order.machine.name, order.serving, False)


def waiting(order: Order) -> Nic:
    """The vNIC that does not serve yet."""
    return "b" if order.serving == "a" else "a"


def _changes(order: Order) -> bool:
    return order.addresses is not None and order.addresses.new is not None
