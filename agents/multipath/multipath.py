"""The agent's Multipath TCP: one object for all hypervisors and moves, so that `join` has what was seen since
`activate`."""

from collections.abc import Callable

from agents.hypervisors.hypervisor import Hypervisor
from agents.multipath.segment import Address
from agents.multipath.switch import GuestSwitch
from agents.multipath.watches import Watches


class Multipath:
    """Multipath TCP of one cloudlet. `device` returns the interface of an endpoint's LAN, None if there is none here.
    `greet` is called with an endpoint to which a machine has moved. `seconds` is how long a device may take to join.
    `address6` returns the IPv6 address that belongs to another one, None if there is none. `home` returns whether an
    address is of an endpoint's own LAN."""

    def __init__(
        self,
        device: Callable[[str], str | None],
        greet: Callable[[str], None] = lambda endpoint: None,
        seconds: float = 30.0,
        address6: Callable[[Address], Address | None] = lambda address: None,
        home: Callable[[str, Address], bool] = lambda endpoint, address: False,
    ) -> None:
        self._watches, self._greet, self._home, self._seconds = Watches(device, address6), greet, home, seconds

    def switch(self, hypervisor: Hypervisor) -> GuestSwitch:
        """Return the switch for machines of that hypervisor whose guests run `weft-guest`."""
        return GuestSwitch(hypervisor, self._watches, self._greet, self._home, self._seconds)

    def close(self) -> None:
        """End all watches. Machines stay as they are."""
        self._watches.close()
