"""The cloudlet as orders need it: drivers, LANs, and the machines here."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Protocol, TypeVar

from agents.dhcp.lease_source import NoAnswer
from agents.hypervisors.found import Driver, Drivers
from agents.hypervisors.hypervisor import Attachment, Comparable, Hypervisor, HypervisorError, Refused
from agents.kernel.lan import bridge_name
from agents.leases.journal import JournalError
from agents.moves.switch import Plain, Switch
from agents.multipath.address6 import address6
from controller.wire.delegations import Client
from controller.wire.desired import Desired, Endpoint
from controller.wire.leases import LeaseRelease
from controller.wire.machines import Condition, MachineState, client_id
from controller.wire.moves import Act, Order
from controller.wire.platforms import Platform

log = logging.getLogger(__name__)

T = TypeVar("T")

_PATIENCE = 10.0  # seconds for the desired state to catch up with an order
_LOOK = 2.0  # seconds that a driver has to list its machines

LASTING: dict[Act, Condition] = {
    "start": "running",
    "stop": "stopped",
    "initiate": "running",
    "prepare": "waiting",
    "switchover": "moved",
    "activate": "running",
    "discard": "gone",
}
"""The condition in which each act leaves the machine, for acts whose effect can be seen."""


Forget = Callable[[str, tuple[str, ...]], Awaitable[None]]
"""Called with a bridge and addresses; the bridge's gateway then forgets these."""


class Lessor(Protocol):
    """The part of the agent's leases that a move needs. All methods may raise NoAnswer, and two JournalError."""

    async def meet(self, endpoint: str, client: Client) -> None:
        """Find out who a client is that is expected at that endpoint."""

    async def release(self, release: LeaseRelease) -> None:
        """Give back a machine's lease for it."""

    def leased(self, endpoint: str, address: str, client: Client) -> bool:
        """Return whether a machine has leased that address."""


class Made(Protocol):
    """The memory of the machines that initiations have started here."""

    def made(self, move: str) -> bool:
        """Return whether that move has started its machine here."""

    async def make(self, order: Order) -> None:
        """Note that the order's move starts its machine here. Raises HypervisorError."""


class Door(Protocol):
    """The guard of the LANs: it lets a machine in, and lets no other sender use the machine's addresses."""

    async def admit(self, order: Order) -> None:
        """Let in the machine of this order, which comes."""

    async def dismiss(self, order: Order) -> None:
        """Remove the machine of this order: it has left, or has not come."""


class ExecutionContext:
    """The cloudlet in which orders are carried out. `guest_switch` makes the switch for machines whose driver can run
    programs in the guest; without it, and for other machines, the switch is plain. `forget` makes a bridge's gateway
    forget addresses."""

    def __init__(
        self,
        drivers: Drivers,
        guest_switch: Callable[[Hypervisor], Switch] | None = None,
        leases: Lessor | None = None,
        door: Door | None = None,
        forget: Forget | None = None,
        initiated: Made | None = None,
    ) -> None:
        self._initiated = initiated
        self._drivers, self._guest_switch, self._leases, self._door = drivers, guest_switch, leases, door
        self._forget = forget
        self._desired: Desired | None = None
        self._news = asyncio.Event()
        self._seen: dict[str, dict[str, MachineState]] = {}

    def know(self, desired: Desired) -> None:
        """Take the desired state of the cloudlet."""
        self._desired = desired
        self._news.set()

    async def load(self) -> None:
        """Load the drivers that may have machines here, once the desired state is known."""
        expected = sorted(self._drivers.expected())
        if not expected:
            return
        desired = await self._known(lambda: self._desired)
        for name in expected:
            try:
                await self._drivers.driver(name, desired.vtep)
            except Refused as refused:
                log.error("%s", refused)

    async def driver(self, order: Order) -> Driver:
        """Return the driver for the order's machine. Raises Refused, or HypervisorError without a desired state."""
        try:
            async with asyncio.timeout(_PATIENCE):
                desired = await self._known(lambda: self._desired)
        except TimeoutError as error:
            raise HypervisorError("this cloudlet has no desired state yet") from error
        return await self._drivers.driver(order.machine.driver, desired.vtep)

    async def attachment(self, order: Order) -> Attachment:
        """Return the bridge and MTU of the order's LAN. Raises HypervisorError if there is no such LAN."""
        try:
            async with asyncio.timeout(_PATIENCE):
                endpoint = await self._known(lambda: self._endpoint(order.endpoint))
        except TimeoutError as error:
            raise HypervisorError(f"this cloudlet has no endpoint {order.endpoint}") from error
        return Attachment(bridge_name(endpoint), endpoint.mtu)

    def switch(self, driver: Driver) -> Switch:
        """Return the switch that changes the addresses of a driver's machines."""
        if self._guest_switch is not None and driver.capabilities.guest:
            return self._guest_switch(driver.hypervisor)
        return Plain(driver.hypervisor)

    async def expect(self, order: Order) -> None:
        """Let the agent's leases know who will ask for the new address: the machine's waiting vNIC. If they cannot find
        that out now, they do so when it asks."""
        if self._leases is None or order.addresses is None or order.addresses.new is None:
            return
        mac = order.machine.macs[1 if order.serving == "a" else 0]
        try:
            await self._leases.meet(order.endpoint, Client(mac=mac, client_id=client_id(order.machine.name)))
        except (NoAnswer, JournalError) as error:
            log.warning("move %s: %s is not known to %s yet: %s", order.move, order.machine.name, order.endpoint, error)

    def made(self, order: Order) -> bool:
        """Return whether the order's move has started its machine here."""
        return self._initiated is not None and self._initiated.made(order.move)

    async def make(self, order: Order) -> None:
        """Note that the order's move starts its machine here. Raises HypervisorError."""
        if self._initiated is not None:
            await self._initiated.make(order)

    def leased(self, order: Order, address: str) -> bool:
        """Return whether the order's machine has leased an address with the vNIC that does not serve. True where
        nobody can tell."""
        if self._leases is None:
            return True
        mac = order.machine.macs[1 if order.serving == "a" else 0]
        try:
            return self._leases.leased(
                order.endpoint, address, Client(mac=mac, client_id=client_id(order.machine.name))
            )
        except NoAnswer:
            return False

    async def admit(self, order: Order) -> None:
        """Let the machine use its addresses at the order's LAN."""
        if self._door is not None:
            await self._door.admit(order)

    async def dismiss(self, order: Order) -> None:
        """Note that the machine has left that LAN, or has not come."""
        if self._door is not None:
            await self._door.dismiss(order)

    async def give_up(self, order: Order) -> None:
        """End the lease of the address that a machine had here. If that fails now, the lease ends by itself."""
        if self._leases is None or order.addresses is None or order.addresses.new is None:
            return
        machine, old = order.machine, order.addresses.old
        mac = machine.macs[0 if order.serving == "a" else 1]
        lease = LeaseRelease(endpoint=order.endpoint, address=old, mac=mac, client_id=client_id(machine.name))
        try:
            await self._leases.release(lease)
        except (NoAnswer, JournalError) as error:
            log.warning("move %s: %s of %s stays leased for its time: %s", order.move, old, machine.name, error)

    async def part(self, order: Order) -> None:
        """Let the LAN's gateway forget the address with which the machine came here, and which it no longer has."""
        endpoint, addresses = self._endpoint(order.endpoint), order.addresses
        if self._forget is None or endpoint is None or addresses is None or addresses.new is None:
            return
        other = address6(self._desired, ip_address(addresses.old))
        await self._forget(bridge_name(endpoint), (addresses.old, *((str(other),) if other is not None else ())))

    async def stands(self, order: Order) -> bool:
        """Return whether the effect of the order, which was done, can still be seen."""
        if order.act not in LASTING:
            return order.act in ("join", "leave")
        machines = await (await self.driver(order)).hypervisor.machines()
        state = machines.get(order.machine.name)
        return (state.condition if state is not None else "gone") == LASTING[order.act]

    async def machines(self) -> list[MachineState]:
        """Return all machines. If a driver does not answer, its machines are as last seen. A machine that has gone is
        reported as gone until the controller knows."""
        await asyncio.gather(*(self._look(driver) for driver in list(self._drivers.loaded.values())))
        return self.seen()

    async def platforms(self) -> dict[str, Platform]:
        """Return the platform of each driver that can describe it. A driver that cannot do so now is left out."""
        found = dict[str, Platform]()
        for driver in list(self._drivers.loaded.values()):
            if isinstance(driver.hypervisor, Comparable):
                try:
                    found[driver.name] = await driver.hypervisor.platform()
                except HypervisorError as error:
                    log.warning("hypervisor driver %s does not say what machines find here: %s", driver.name, error)
        return found

    @property
    def initiates(self) -> list[str]:
        """The drivers that are set up here, with which machines can start anew."""
        return sorted(self._drivers.expected() | self._drivers.loaded.keys())

    @property
    def unlisted(self) -> list[str]:
        """Drivers that may have machines here and have not listed them since the agent started."""
        return sorted((self._drivers.expected() | self._drivers.loaded.keys()) - self._seen.keys())

    def seen(self) -> list[MachineState]:
        """Return the machines as they were last seen."""
        return sorted((state for seen in self._seen.values() for state in seen.values()), key=lambda s: s.name)

    def running(self) -> list[tuple[str, Hypervisor]]:
        """Return the machines that ran when they were last seen, each with its driver."""
        return [
            (name, self._drivers.loaded[driver].hypervisor)
            for driver, seen in self._seen.items()
            for name, state in seen.items()
            if state.condition == "running"
        ]

    def known(self, machines: list[MachineState]) -> None:
        """Note that the controller knows these machines: those that are gone need not be reported again."""
        for state in machines:
            for seen in self._seen.values():
                if state.condition == "gone" and seen.get(state.name) == state:
                    del seen[state.name]

    async def _look(self, driver: Driver) -> None:
        before = self._seen.get(driver.name, {})
        try:
            async with asyncio.timeout(_LOOK):
                found = dict(await driver.hypervisor.machines())
        except Exception as error:
            log.warning("hypervisor driver %s does not list its machines: %s", driver.name, error or "too slow")
            return
        gone = {name: MachineState(name=name, condition="gone") for name in before if name not in found}
        self._seen[driver.name] = found | gone

    def _endpoint(self, name: str) -> Endpoint | None:
        endpoints = self._desired.endpoints if self._desired is not None else []
        return next((endpoint for endpoint in endpoints if endpoint.name == name), None)

    async def _known(self, find: Callable[[], T | None]) -> T:
        while (found := find()) is None:
            self._news.clear()
            await self._news.wait()
        return found
