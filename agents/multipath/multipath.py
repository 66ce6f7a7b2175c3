"""The agent's own: one for all hypervisors and moves, so that what was seen at `activate` is there at `join`."""

from collections.abc import Callable

from agents.hypervisors.hypervisor import Hypervisor
from agents.multipath.segment import Address
from agents.multipath.switch import GuestSwitch
from agents.multipath.watches import Watches


class Multipath:
    """`device` gives the interface of an endpoint's LAN, None if there is none here; `greet` is called with an endpoint
    to which a machine has moved; `seconds` is how long a device may take to join; `address6` gives the IPv6 address
    that goes with another one, None if there is none; `home` says whether an address is of an endpoint's own LAN."""

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
        """For machines of that hypervisor in whose guests `weft-guest` is."""
        return GuestSwitch(hypervisor, self._watches, self._greet, self._home, self._seconds)

    def close(self) -> None:
        """Looks at nothing any more. Machines stay as they are."""
        self._watches.close()
