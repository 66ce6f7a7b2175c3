"""Two cloudlets with the agent's part in moves, simulated hypervisors, and a controller that only listens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from agents.controller.client import ControllerAway, ControllerRefused
from agents.dhcp.lease_source import NoAnswer
from agents.hypervisors.found import GROUP, Drivers
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.simulated import Faults
from agents.hypervisors.simulated.machines import Machines
from agents.moves import Moves
from agents.settings import HypervisorSettings
from controller.wire.delegations import Client
from controller.wire.desired import Desired, Endpoint
from controller.wire.flavours import Flavour
from controller.wire.leases import LeaseRelease
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Act, Addresses, MoveReport, Order, Orders, Progress, Target

MACHINE = Machine(
    name="vm1",
    driver="simulated",
    image="tiny",
    memory=1 << 24,
    macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b"),
    disk=Disk(base="tiny", bytes=1 << 20),
)
OPTIONS = {"speed": "100"}
WAY: tuple[tuple[str, Act], ...] = (
    ("c2", "prepare"),
    ("c1", "disk"),
    ("c1", "memory"),
    ("c1", "switchover"),
    ("c2", "activate"),
    ("c2", "join"),
    ("c2", "leave"),
    ("c1", "discard"),
)
"""The cloudlet and the act of each step of a move, in order."""


def desired(cloudlet: str) -> Desired:
    """Return the desired state of a cloudlet with one LAN."""
    endpoint = Endpoint(
        name=f"{cloudlet}-lan",
        index=1,
        flavour=Flavour.VPLS,
        prefix="10.1.0.0/24",
        prefix6="2001:db8:1::/64",
        gateway="10.1.0.1",
        ports=[],
        rt="64512:1",
        rd="64512:1",
        ve_id=1,
        vni=None,
        vtep="192.0.2.1",
        mtu=1500,
        lease_seconds=60,
        remotes=[],
    )
    return Desired(
        version=1,
        generation=1,
        cloudlet=cloudlet,
        asn=64512,
        router_id="192.0.2.1",
        vtep="192.0.2.1",
        speakers=[],
        endpoints=[endpoint],
    )


class Ear:
    """A controller that receives one cloudlet's reports. `away`: it does not answer; `gone`: the numbers of orders that
    no longer exist. `listed` has the machines of every report that lists them, `machines` those of the last one, and
    `unlisted` the drivers whose machines that report does not list."""

    def __init__(self) -> None:
        self.away = False
        self.gone: set[int] = set()
        self.heard: list[Progress] = []
        self.machines: dict[str, str] = {}
        self.unlisted: list[str] = []
        self.initiates: list[list[str]] = []
        self.listed: list[dict[str, str]] = []
        self._news = asyncio.Event()

    async def moves(self, report: MoveReport) -> None:
        """Answer a report as the real controller does."""
        await asyncio.sleep(0)
        if self.away:
            raise ControllerAway("cut off")
        fenced = ("switchover", "activate")
        if any(p.number in self.gone and p.state == "running" and p.act in fenced for p in report.progress):
            raise ControllerRefused(409, "this order is not there any more")
        self.heard += report.progress
        self.initiates += [report.initiates] if report.initiates is not None else []
        self.machines, self.unlisted = {state.name: state.condition for state in report.machines}, report.unlisted
        if not report.unlisted:
            self.listed.append(self.machines)
        self._news.set()

    async def until(self, heard: Callable[[Progress], bool]) -> Progress:
        """Return the first matching progress, past or future."""
        async with asyncio.timeout(20):
            while True:
                for progress in self.heard:
                    if heard(progress):
                        return progress
                await self.news()

    async def news(self) -> None:
        """Wait until the next report."""
        self._news.clear()
        await self._news.wait()

    async def ended(self, number: int) -> Progress:
        """Return the final progress of that order."""
        return await self.until(lambda p: p.number == number and p.state != "running")


class Cloudlet:
    """One agent's part in moves. `start` also restarts it: the state on the disk stays."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name, self.directory = name, directory
        self.ear: Ear = Ear()
        self.state = directory / "hypervisors" / "simulated"
        self.state.mkdir(parents=True, exist_ok=True)
        self.faults = Faults(self.state)
        self.points = [EntryPoint("simulated", "agents.hypervisors.simulated:driver", GROUP)]
        self.options = dict(OPTIONS)
        self.met: list[tuple[str, Client]] = []
        self.released: list[LeaseRelease] = []
        self.leases: list[tuple[str, str, str | None]] = []
        self.door: list[tuple[str, str]] = []
        self.shut = False
        self.forgotten: list[tuple[str, tuple[str, ...]]] = []
        self.moves: Moves | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the agent, or start it again."""
        settings = {"simulated": HypervisorSettings(options=self.options)}
        drivers = Drivers(self.name, self.directory / "hypervisors", settings, self.points)
        self.moves = Moves(
            self.name, self.directory / "moves", self.ear, drivers, leases=self, door=self, forget=self.forget
        )
        self.moves.know(desired(self.name))
        self._task = asyncio.create_task(self.moves.run())

    async def meet(self, endpoint: str, client: Client) -> None:
        """Record the call for the agent's leases; fail from the second call on."""
        self.met.append((endpoint, client))
        if len(self.met) > 1:
            raise NoAnswer("its journal is gone")

    async def release(self, release: LeaseRelease) -> None:
        """Record the call for the agent's leases; fail from the second call on."""
        self.released.append(release)
        if len(self.released) > 1:
            raise NoAnswer("its journal is gone")

    def leased(self, endpoint: str, address: str, client: Client) -> bool:
        """Return whether that lease is among `leases`."""
        return (endpoint, address, client.mac) in self.leases

    async def admit(self, order: Order) -> None:
        """Record the call for the guard of sources; fail if it is shut."""
        if self.shut:
            raise HypervisorError("the door is shut")
        self.door.append(("admit", order.act))

    async def dismiss(self, order: Order) -> None:
        """Record the call for the guard of sources."""
        self.door.append(("dismiss", order.act))

    async def forget(self, bridge: str, addresses: tuple[str, ...]) -> None:
        """Record the call for the kernel."""
        self.forgotten.append((bridge, addresses))

    async def stop(self) -> None:
        """End the agent; machines continue to run."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def order(self, *orders: Order) -> None:
        """Give the agent a whole document of orders."""
        assert self.moves is not None
        self.moves.intend(Orders(cloudlet=self.name, orders=list(orders)))

    async def idle(self) -> None:
        """Wait until no order is being carried out."""
        assert self.moves is not None
        await asyncio.wait({work.task for work in self.moves._works.values()})

    def condition(self) -> str:
        """Return the condition in the machine's file."""
        record = Machines(self.state).read("vm1")
        return record.condition if record is not None else "gone"

    async def struck(self) -> None:
        """Wait until all set faults have occurred."""
        async with asyncio.timeout(20):
            while True:
                if (self.state / "faults.json").read_text() == "{}":
                    return
                await asyncio.sleep(0.01)

    async def becomes(self, condition: str) -> None:
        """Wait until the machine has that condition."""
        async with asyncio.timeout(20):
            while True:
                if self.condition() == condition:
                    return
                await asyncio.sleep(0.01)


class Region:
    """Both cloudlets, and the orders of one move between them."""

    def __init__(self, directory: Path) -> None:
        self.c1, self.c2 = (Cloudlet(name, directory / name) for name in ("c1", "c2"))
        self.number = 0
        self.target: Target | None = None

    def cloudlet(self, name: str) -> Cloudlet:
        """Return a cloudlet by name."""
        return self.c1 if name == "c1" else self.c2

    def make(self, name: str, act: Act, **changes: Any) -> Order:
        """Return the next order."""
        self.number += 1
        order = Order(
            move="m1",
            number=self.number,
            act=act,
            machine=MACHINE,
            endpoint=f"{name}-lan",
            target=self.target if name == "c1" else None,
            addresses=Addresses(old="10.1.0.3", new="10.2.0.3"),
            fence_seconds=0.6,
        )
        return order.model_copy(update=changes)

    async def carry(self, name: str, act: Act, **changes: Any) -> Progress:
        """Give an order and wait until it has ended."""
        order = self.make(name, act, **changes)
        self.cloudlet(name).order(order)
        ended = await self.cloudlet(name).ear.ended(order.number)
        await self.cloudlet(name).idle()
        self.target = ended.target or self.target
        return ended

    async def until(self, act: Act) -> None:
        """Do all steps of a move before an act."""
        assert (await self.carry("c1", "start", move="m0")).state == "done"
        for name, one in WAY:
            if one == act:
                return
            ended = await self.carry(name, one)
            assert ended.state == "done", ended


@asynccontextmanager
async def region(directory: Path) -> AsyncIterator[Region]:
    """Yield a region in which both agents run."""
    made = Region(directory)
    made.c1.start()
    made.c2.start()
    try:
        yield made
    finally:
        await made.c1.stop()
        await made.c2.stop()
