"""The deeds of legitimate users and devices during a phase, and the events and leases that must exist afterwards."""

import threading
import time
from collections.abc import Callable
from functools import partial

from lab.errors import LabError
from lab.region import Region
from lab.rest import Rest

PAUSE = 1.0
"""Seconds between two deeds."""

POOL, MEMBER = "green", "c1-lan"
NEWCOMERS = ("m1", "m2")
"""The devices beside which new ones ask for a lease; the second has the hostile device on its LAN."""

PHONE = "phone0"
"""The interface of a new device."""

Deed = tuple[str, str]
"""An event that must exist: its type and its subject."""


class Life:
    """Rounds of deeds: a join and a leave, a device that is registered and forgotten, a new DHCP client on one of two
    LANs. `deeds` are events that must exist, `leased` MACs that hold a lease, `failed` the errors, and `seconds` how
    long each join and leave took."""

    def __init__(self, region: Region) -> None:
        self._region, self._number = region, int(time.time())
        self.deeds: list[Deed] = []
        self.leased: list[str] = []
        self.failed: list[str] = []
        self.seconds: list[float] = []

    def live(self, over: threading.Event) -> None:
        """Do one deed after the other until `over` is set."""
        with Rest(timeout=60) as rest:
            by_api = (self._join, self._leave, self._register, self._forget)
            deeds: list[Callable[[], None]] = [*(partial(deed, rest) for deed in by_api), self._lease]
            while not over.is_set():
                for deed in deeds:
                    self._try(deed)
                    over.wait(PAUSE)
                self._number += 1

    def _try(self, deed: Callable[[], None]) -> None:
        try:
            deed()
        except LabError as error:
            self.failed.append(str(error))

    def _join(self, rest: Rest) -> None:
        began = time.monotonic()
        rest.post(f"/vcps/{POOL}/members", {"endpoint": MEMBER})
        self.seconds.append(time.monotonic() - began)
        self.deeds.append(("member-joined", MEMBER))

    def _leave(self, rest: Rest) -> None:
        began = time.monotonic()
        rest.delete(f"/vcps/{POOL}/members/{MEMBER}")
        self.seconds.append(time.monotonic() - began)
        self.deeds.append(("member-left", MEMBER))

    def _register(self, rest: Rest) -> None:
        rest.post("/devices", {"name": self._device, "mac": f"02:00:5f{self._mac}"})
        self.deeds.append(("device-registered", self._device))

    def _forget(self, rest: Rest) -> None:
        rest.delete(f"/devices/{self._device}")
        self.deeds.append(("device-forgotten", self._device))

    def _lease(self) -> None:
        """Let a new client ask for an address, in turn on the one LAN and on the other; it keeps the address. In ten
        minutes these are fewer than the eighth of a LAN's pairs that one port cannot have alone."""
        at = NEWCOMERS[self._number % len(NEWCOMERS)]
        mac = f"02:00:6{NEWCOMERS.index(at)}{self._mac}"
        link = f"ip link add link eth0 name {PHONE} address {mac} up type macvlan mode bridge".split()
        self._region.execute(at, link, check=True)
        try:
            words = ["udhcpc", "-f", "-n", "-q", "-i", PHONE, "-s", "/bin/true", "-t", "10", "-T", "1"]
            if self._region.execute(at, words).returncode:
                raise LabError(f"a new client beside {at} got no lease in 10 s")
        finally:
            self._region.execute(at, ["ip", "link", "delete", PHONE])
        self.leased.append(mac)

    @property
    def _device(self) -> str:
        return f"phone-{self._number}"

    @property
    def _mac(self) -> str:
        digits = f"{self._number:08x}"
        return "".join(f":{digits[at : at + 2]}" for at in (2, 4, 6))
