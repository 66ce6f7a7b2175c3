"""The change from the old address to the new one, with the guest's help (docs/network/multipath.md has the sequence).

Every call first looks at the present state and may be made again. After a restart of the agent the packets seen before
are forgotten, and the guest's list of sockets counts instead.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

from agents.hypervisors.hypervisor import Hypervisor, HypervisorError
from agents.multipath.guest import Guest
from agents.multipath.join import Join
from agents.multipath.linger import linger
from agents.multipath.segment import Address
from agents.multipath.watches import Watches
from controller.wire.machines import Nic
from controller.wire.moves import Figures, Order

log = logging.getLogger(__name__)

_AGAIN = (0.1, 0.2, 0.3, 0.4)  # seconds between announcements of an address that is kept: one second in total
_LEASE = 20.0  # seconds for the waiting vNIC to get its address


@dataclass(frozen=True)
class _Change:
    """The addresses and the linger time of a move that does not keep the address."""

    old: Address
    new: Address
    linger: float

    @classmethod
    def of(cls, order: Order) -> Self | None:
        addresses = order.addresses
        if addresses is None or addresses.new is None:
            return None
        return cls(ip_address(addresses.old), ip_address(addresses.new), addresses.linger)


class GuestSwitch:
    """The switch for machines of one hypervisor. `greet` tells a LAN's router of a new machine; `home` returns whether
    an address is of an endpoint's own LAN; `seconds` is how long a device may take to join."""

    def __init__(
        self,
        hypervisor: Hypervisor,
        watches: Watches,
        greet: Callable[[str], None],
        home: Callable[[str, Address], bool],
        seconds: float,
    ) -> None:
        self._hypervisor, self._watches, self._greet = hypervisor, watches, greet
        self._home, self._seconds = home, seconds

    async def activate(self, order: Order) -> None:
        """Announce the old address, and let the waiting vNIC get the new one while the guest holds the old one. In a
        move that keeps the address, announce it a few times within the first second. Raises HypervisorError, also if
        the vNIC gets another address."""
        name, change = order.machine.name, _Change.of(order)
        await self._hypervisor.link(name, order.serving, True)
        await self._hypervisor.announce(name)
        self._greet(order.endpoint)
        if change is None:
            await asyncio.gather(self._announced(name), self._kept(order))
            return
        self._watches.of(order)
        await self._up(order, change.new)

    async def join(self, order: Order) -> Figures:
        """Return how long the join took, and how many connections joined. Raises NotJoined."""
        change = _Change.of(order)
        if change is None:
            return Figures()
        new = change.new
        guest = Guest(self._hypervisor, order.machine.name)
        join = Join(guest, self._watches.of(order), self._watches.both(change.old), self._watches.both(new))
        figures = await join.seen(self._seconds, lambda: self._up(order, new), lambda: guest.announce(waiting(order)))
        self._watches.end(order)
        return figures

    async def leave(self, order: Order) -> None:
        """Make the old address a backup, let it linger while connections use it and at most for its time, then remove
        it. Raises HypervisorError, also if the new address is not there."""
        change = _Change.of(order)
        if change is None:
            return
        name, serving = order.machine.name, order.serving
        guest = Guest(self._hypervisor, name)
        if await guest.backup(serving, change.new) is not None:
            old, new = self._watches.both(change.old), self._watches.both(change.new)
            left = await linger(guest, old, new, change.linger)
            if left != 0:
                count = "nobody knows how many" if left is None else str(left)
                log.warning("move %s: %s connections of %s end with %s", order.move, count, name, change.old)
            await guest.retire(serving)
        await self._hypervisor.link(name, serving, False)

    async def linger(self, order: Order) -> None:
        """Let the address of a machine that is retired linger while connections use it and at most for its time, then
        disconnect it. Raises HypervisorError."""
        if (change := _Change.of(order)) is None:
            return
        name, old, new = order.machine.name, self._watches.both(change.old), self._watches.both(change.new)
        left = await linger(Guest(self._hypervisor, name), old, new, change.linger)
        if left != 0:
            count = "nobody knows how many" if left is None else str(left)
            log.warning("move %s: %s connections of %s end with %s", order.move, count, name, change.old)
        await self._hypervisor.link(name, order.serving, False)

    async def _announced(self, name: str) -> None:
        for pause in _AGAIN:
            await asyncio.sleep(pause)
            await self._hypervisor.announce(name)

    async def _kept(self, order: Order) -> None:
        """Let the guest hold the address away from its LAN, as nobody renews its lease there; back at its LAN, lease it
        as usual. A guest that does not answer runs on all the same."""
        if order.addresses is None:
            return
        guest, old = Guest(self._hypervisor, order.machine.name), order.addresses.old
        try:
            if self._home(order.endpoint, ip_address(old)):
                await guest.up(order.serving, _LEASE)
            else:
                await guest.hold(order.serving)
        except HypervisorError as error:
            log.warning("move %s: %s lasts only as long as it is leased: %s", order.move, old, error)

    async def _up(self, order: Order, new: Address) -> None:
        name, nic = order.machine.name, waiting(order)
        guest = Guest(self._hypervisor, name)
        await self._hypervisor.link(name, nic, True)
        if await guest.up(nic, _LEASE) == new:
            return
        # It has an address from a cloudlet where no device joined it: ask for one here.
        await guest.retire(nic)
        await self._hypervisor.link(name, nic, False)
        await self._hypervisor.link(name, nic, True)
        if (address := await guest.up(nic, _LEASE)) != new:
            raise HypervisorError(f"{name}: vNIC {nic} has got {address}, and the plan says {new}")


def waiting(order: Order) -> Nic:
    """Return the vNIC that does not serve yet."""
    return "b" if order.serving == "a" else "a"
