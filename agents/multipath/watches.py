"""The watches of the moves under way at this cloudlet. A watch begins before anybody hears of the new address, so that
it misses no join, and lasts until a join was seen."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from agents.multipath.handshake import Joined
from agents.multipath.segment import Address
from agents.multipath.watch import Watch
from controller.wire.moves import Order

log = logging.getLogger(__name__)


class Several:
    """The watches of one machine's addresses, one in each family, used like one watch."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches

    @property
    def joined(self) -> tuple[Joined, ...]:
        return tuple(joined for watch in self._watches for joined in watch.joined)

    @property
    def begun(self) -> int:
        return sum(watch.begun for watch in self._watches)

    async def wait(self) -> Joined:
        """Wait for the first subflow that joins any of the addresses, and return it."""
        waiting = [asyncio.ensure_future(watch.wait()) for watch in self._watches]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in waiting:
                task.cancel()

    def close(self) -> None:
        for watch in self._watches:
            watch.close()


class Watches:
    """All watches. `device` returns the interface of an endpoint's LAN, None if there is none; `address6` returns the
    IPv6 address that belongs to another one, None if there is none."""

    def __init__(self, device: Callable[[str], str | None], address6: Callable[[Address], Address | None]) -> None:
        self._device, self._address6 = device, address6
        self._open: dict[str, tuple[str, Several]] = {}  # by machine: the move, and its watch

    def both(self, address: Address) -> tuple[Address, ...]:
        """Return the address, and that of the other family if there is one."""
        other = self._address6(address)
        return (address,) if other is None else (address, other)

    def of(self, order: Order) -> Several | None:
        """Return the watch of the move, and begin it if there is none. None where the wire cannot be watched."""
        move, watch = self._open.get(order.machine.name, ("", None))
        if watch is not None and move == order.move:
            return watch
        self.end(order)
        device = self._device(order.endpoint)
        addresses = order.addresses
        if device is None or addresses is None or addresses.new is None:
            return None
        try:
            watch = Several(self._watches(device, ip_address(addresses.new), addresses.device))
        except (OSError, ValueError) as error:
            log.warning("move %s: %s cannot be watched for joins: %s", order.move, device, error)
            return None
        self._open[order.machine.name] = order.move, watch
        return watch

    def _watches(self, device: str, new: Address, peer: str | None) -> list[Watch]:
        peers = self.both(ip_address(peer)) if peer is not None else ()
        found: list[Watch] = []
        try:
            for address in self.both(new):
                found.append(Watch(device, address, next((p for p in peers if p.version == address.version), None)))
        except OSError:
            Several(found).close()
            raise
        return found

    def end(self, order: Order) -> None:
        """End the watch for the machine."""
        _, watch = self._open.pop(order.machine.name, ("", None))
        if watch is not None:
            watch.close()

    def close(self) -> None:
        """End all watches."""
        for _, watch in self._open.values():
            watch.close()
        self._open.clear()
