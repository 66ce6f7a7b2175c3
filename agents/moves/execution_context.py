"""This cloudlet as orders need it: drivers, LANs, and the machines that there are."""

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
    "prepare": "waiting",
    "switchover": "moved",
    "activate": "running",
    "discard": "gone",
}
"""What an act leaves behind, as far as it can be seen."""


Forget = Callable[[str, tuple[str, ...]], Awaitable[None]]
"""Called with a bridge and addresses."""


class Lessor(Protocol):
    """As much of the agent's leases as a move needs. Either may raise NoAnswer or JournalError."""

    async def meet(self, endpoint: str, client: Client) -> None:
        """A client is expected there."""

    async def release(self, release: LeaseRelease) -> None:
        """A machine's lease is given back for it."""


class Door(Protocol):
    """What lets a machine in at its LAN, and nobody else under its addresses."""

    async def admit(self, order: Order) -> None:
        """The machine of this order comes."""

    async def dismiss(self, order: Order) -> None:
        """It is not there, or not there any more."""


class ExecutionContext:
    """`guest_switch` makes the switch for machines in whose guest somebody listens; without it, and for others, it is
    plain. `forget` takes addresses out of what the gateway on a bridge remembers."""

    def __init__(
        self,
        drivers: Drivers,
        guest_switch: Callable[[Hypervisor], Switch] | None = None,
        leases: Lessor | None = None,
        door: Door | None = None,
        forget: Forget | None = None,
    ) -> None:
        self._drivers, self._guest_switch, self._leases, self._door = drivers, guest_switch, leases, door
        self._forget = forget
        self._desired: Desired | None = None
        self._news = asyncio.Event()
        self._seen: dict[str, dict[str, MachineState]] = {}

    def know(self, desired: Desired) -> None:
        """This is what the cloudlet should be."""
        self._desired = desired
        self._news.set()

    async def load(self) -> None:
        """Loads the drivers that may have machines here, once this cloudlet knows who it is."""
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
        """Raises Refused, or HypervisorError if this cloudlet does not know yet who it is."""
        try:
            async with asyncio.timeout(_PATIENCE):
                desired = await self._known(lambda: self._desired)
        except TimeoutError as error:
            raise HypervisorError("this cloudlet has no desired state yet") from error
        return await self._drivers.driver(order.machine.driver, desired.vtep)

    async def attachment(self, order: Order) -> Attachment:
        """The order's LAN. Raises HypervisorError if there is none."""
        try:
            async with asyncio.timeout(_PATIENCE):
                endpoint = await self._known(lambda: self._endpoint(order.endpoint))
        except TimeoutError as error:
            raise HypervisorError(f"this cloudlet has no endpoint {order.endpoint}") from error
        return Attachment(bridge_name(endpoint), endpoint.mtu)

    def switch(self, driver: Driver) -> Switch:
        """What changes the addresses of a driver's machines."""
        if self._guest_switch is not None and driver.capabilities.guest:
            return self._guest_switch(driver.hypervisor)
        return Plain(driver.hypervisor)

    async def expect(self, order: Order) -> None:
        """The machine's waiting vNIC will ask for the new address here. If nobody can say now who that is, it is asked
        for when it comes."""
        if self._leases is None or order.addresses is None or order.addresses.new is None:
            return
        mac = order.machine.macs[1 if order.serving == "a" else 0]
        try:
            await self._leases.meet(order.endpoint, Client(mac=mac, client_id=client_id(order.machine.name)))
        except (NoAnswer, JournalError) as error:
            log.warning("move %s: %s is not known to %s yet: %s", order.move, order.machine.name, order.endpoint, error)

    async def admit(self, order: Order) -> None:
        """The machine may use its addresses at the order's LAN."""
        if self._door is not None:
            await self._door.admit(order)

    async def dismiss(self, order: Order) -> None:
        """It has left that LAN, or has not come."""
        if self._door is not None:
            await self._door.dismiss(order)

    async def give_up(self, order: Order) -> None:
        """The address that a machine had here, and has no more, is leased to it no longer. If that cannot be said now,
        the lease ends by itself."""
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
        """The machine is here, and has no more the address that it came with: the LAN's gateway forgets it."""
        endpoint, addresses = self._endpoint(order.endpoint), order.addresses
        if self._forget is None or endpoint is None or addresses is None or addresses.new is None:
            return
        other = address6(self._desired, ip_address(addresses.old))
        await self._forget(bridge_name(endpoint), (addresses.old, *((str(other),) if other is not None else ())))

    async def stands(self, order: Order) -> bool:
        """Whether what the order was to bring about, and did, can still be seen."""
        if order.act not in LASTING:
            return order.act in ("join", "leave")
        machines = await (await self.driver(order)).hypervisor.machines()
        state = machines.get(order.machine.name)
        return (state.condition if state is not None else "gone") == LASTING[order.act]

    async def machines(self) -> list[MachineState]:
        """All that there are. Those of a driver that does not answer are as they were last seen; one that has gone is
        said to be so until somebody knows."""
        await asyncio.gather(*(self._look(driver) for driver in list(self._drivers.loaded.values())))
        return self.seen()

    async def platforms(self) -> dict[str, Platform]:
        """What machines find here, by each driver that says so. One that cannot say now is left out."""
        found = dict[str, Platform]()
        for driver in list(self._drivers.loaded.values()):
            if isinstance(driver.hypervisor, Comparable):
                try:
                    found[driver.name] = await driver.hypervisor.platform()
                except HypervisorError as error:
                    log.warning("hypervisor driver %s does not say what machines find here: %s", driver.name, error)
        return found

    @property
    def unlisted(self) -> list[str]:
        """Drivers that may have machines here and have not said which since the agent was started."""
        return sorted((self._drivers.expected() | self._drivers.loaded.keys()) - self._seen.keys())

    def seen(self) -> list[MachineState]:
        """As they were last seen."""
        return sorted((state for seen in self._seen.values() for state in seen.values()), key=lambda s: s.name)

    def running(self) -> list[tuple[str, Hypervisor]]:
        """The machines that ran when they were last seen, each with its driver."""
        return [
            (name, self._drivers.loaded[driver].hypervisor)
            for driver, seen in self._seen.items()
            for name, state in seen.items()
            if state.condition == "running"
        ]

    def known(self, machines: list[MachineState]) -> None:
        """The controller knows these."""
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
