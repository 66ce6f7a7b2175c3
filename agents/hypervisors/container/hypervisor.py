"""The driver: containers behind the hypervisor interface."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from agents.hypervisors import record
from agents.hypervisors.container import arrival, departure, vnics
from agents.hypervisors.container.arrival import Arrival
from agents.hypervisors.container.container import Container
from agents.hypervisors.container.guest import PROGRAM
from agents.hypervisors.container.image import Images
from agents.hypervisors.container.platform import Here
from agents.hypervisors.container.session import kept_copies
from agents.hypervisors.hypervisor import Attachment, Capabilities, Fenced, HypervisorError, Site
from agents.hypervisors.peer import check
from agents.hypervisors.record import Move
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform

_BESIDE = ("ss",)
"""Programs that look at the network alone."""


class Containers:
    """All containers of one cloudlet. Each has a folder below the site's state directory."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._containers: dict[str, Container] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._peers: dict[str, str] = {}  # by move: the other cloudlet
        self._images = Images(site.images, site.state_dir)
        self._here = Here(self._images)
        self._copies = kept_copies(site)

    def container(self, name: str) -> Container:
        """Return the container of that name, whether it is there or not."""
        if name not in self._containers:
            self._containers[name] = Container(self._site.state_dir / name)
        return self._containers[name]

    async def capabilities(self) -> Capabilities:
        several = len(self._site.addresses) > 1
        return Capabilities((await self._here.plain()).version, multipath=several, compression=True, guest=True)

    async def platform(self) -> Platform:
        return await self._here.look()

    def images(self) -> frozenset[str]:
        return record.images(self._site.state_dir)

    def check(self, machine: Machine, target: Target, peer: str) -> None:
        check(machine, target, peer)

    def introduce(self, move: str, peer: str) -> None:
        self._peers[move] = peer

    async def machines(self) -> Mapping[str, MachineState]:
        self._copies.expire()
        states = await asyncio.gather(*(self.container(name).look() for name in self._names()))
        return {state.name: state for state in states if state.condition != "gone"}

    def _names(self) -> list[str]:
        return [path.parent.name for path in self._site.state_dir.glob("*/machine.json")]

    async def _arrival(self) -> Arrival:
        return Arrival(self._site, self._images, await self._here.plain())

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        async with self._locks[machine.name]:
            self._copies.forget(machine.name)
            await (await self._arrival()).start(self.container(machine.name), machine, attachment, serving)
        await self._tidy()

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        async with self._locks[machine.name]:
            coming = Move(name=move, role="incoming", tuning=tuning, peer=self._peers.pop(move, None))
            container = self.container(machine.name)
            arriving = await self._arrival()
            target = await arriving.prepare(container, machine, attachment, serving, coming, self._site.addresses)
        await self._tidy()
        return target

    async def _tidy(self) -> None:
        """Delete images that were unpacked and that no container is above."""
        used = set[str]()
        for name in self._names():
            try:
                kept = self.container(name).record()
            except HypervisorError:
                return  # nobody knows what it is above
            if kept is not None and kept.platform is not None:
                used |= set(kept.platform.files.values())
        await self._images.tidy(used)

    async def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Yield nothing: a container has no disk, and its files go with its memory."""
        for figures in tuple[Figures, ...]():
            yield figures

    async def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        container = self.container(name)
        async with self._locks[name]:
            here, peer = await self._here.plain(), self._peers.pop(move, None)
            await departure.begin(container, move, target, tuning, self._site, here, peer)
        async for figures in departure.memory(container, self._site, len(self._site.addresses) > 1):
            yield figures

    async def switchover(self, name: str, move: str) -> Figures:
        container = self.container(name)
        async with self._locks[name]:
            kept = container.known()
            if kept.move is None or kept.move.name != move:
                raise Fenced(f"{name} is not on its way by move {move}")
            return await departure.switchover(container)

    async def arrived(self, name: str, move: str) -> bool:
        return await arrival.arrived(self.container(name), move)

    async def activate(self, name: str, move: str) -> Figures:
        async with self._locks[name]:
            return await arrival.activate(self.container(name), move)

    async def hold(self, name: str) -> None:
        container = self.container(name)
        if container.record() is not None and await container.runtime.status() == "running":
            await container.runtime.pause()

    async def abort(self, name: str, move: str) -> None:
        container = self.container(name)
        async with self._locks[name]:
            kept = container.record()
            if kept is None or kept.move is None or kept.move.name != move:
                return  # nothing of this move is here
            if kept.move.role == "outgoing":
                await departure.back(container)
            else:
                await arrival.leave(container)
                await container.transfer.finish()
                await container.remove()

    async def discard(self, name: str) -> None:
        container = self.container(name)
        async with self._locks[name]:
            state = await container.state()
            if state.condition in ("running", "waiting", "paused"):
                raise Fenced(f"{name} is {state.condition} here")
            await arrival.leave(container)
            await container.transfer.finish()
            await container.remove()

    async def stop(self, name: str) -> None:
        container = self.container(name)
        async with self._locks[name]:
            if container.record() is None:
                return
            patience = float(self._site.options.get("shutdown_seconds", "20"))
            with suppress(HypervisorError, TimeoutError):  # one that does not end by itself is ended
                if patience > 0 and await container.runtime.status() == "running":
                    await container.runtime.terminate()
                    async with asyncio.timeout(patience):
                        await container.runtime.ended()
            await arrival.leave(container)
            await container.remove(upper=False)
            self._copies.forget(name)

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        async with self._locks[name]:
            await self.container(name).link(nic, up)

    async def announce(self, name: str) -> None:
        container = self.container(name)
        kept = container.known()
        for nic, up in kept.links.items():
            if up:
                await vnics.announce(container.sandbox, nic)

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        """Run a program in the container. `weft-guest`, and the list of sockets that moves ask for, run beside it."""
        container = self.container(name)
        if container.record() is None:
            raise HypervisorError(f"{name}: there is no such container here")
        if program == PROGRAM:
            return await container.guest.run(*arguments, seconds=seconds)
        if program in _BESIDE:
            return await container.sandbox.run(program, *arguments, seconds=seconds)
        return await container.runtime.execute(program, *arguments, seconds=seconds)
