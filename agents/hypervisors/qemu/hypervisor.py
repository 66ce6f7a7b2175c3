"""The driver: QEMU's machines behind the hypervisor interface."""

import asyncio
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents.hypervisors import record
from agents.hypervisors.hypervisor import Attachment, Capabilities, Fenced, HypervisorError, Site
from agents.hypervisors.peer import check
from agents.hypervisors.qemu import arrival, boot, departure, postcopy, process, thin_line, transfer
from agents.hypervisors.qemu.accelerator import version
from agents.hypervisors.qemu.condition import COMING
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.guard import guard
from agents.hypervisors.qemu.monitor import Garbled, MonitorAway
from agents.hypervisors.qemu.platform import Here
from agents.hypervisors.qemu.source import Source
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move, Record
from agents.hypervisors.target import memory
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform


class Qemu:
    """All machines of one cloudlet that QEMU runs. Each has a folder below the site's state directory."""

    def __init__(self, site: Site, make: Callable[[Path], Vm] = Vm) -> None:
        """Make the driver; `make` returns the machine of a folder."""
        self._site, self._make = site, make
        self._machines: dict[str, Vm] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._guards: dict[str, asyncio.Task[None]] = {}
        self._followed: dict[str, str] = {}  # by machine: the move whose post-copy is or was followed
        self._peers: dict[str, str] = {}  # by move: the other cloudlet
        self._digests = Digests(site.state_dir)
        self._copies = thin_line.kept_copies(site)
        self._here = Here(site, self._digests)

    @property
    def _several(self) -> bool:
        return len(self._site.addresses) > 1

    def folder(self, name: str) -> Path:
        """Return the folder that has all files of a machine."""
        return self._site.state_dir / name

    def _vm(self, name: str) -> Vm:
        if name not in self._machines:
            self._machines[name] = self._make(self.folder(name))
        return self._machines[name]

    async def capabilities(self) -> Capabilities:
        running, images = await version(), shutil.which("qemu-img") is not None
        return Capabilities(
            f"QEMU {running}", disk=images, multipath=self._several, post_copy=True, compression=True, guest=True
        )

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
        folders = self._site.state_dir.glob("*/machine.json")
        names = [path.parent.name for path in folders]
        states = await asyncio.gather(*(self._vm(name).seen() for name in names))
        for name in names:
            with suppress(HypervisorError):  # its record cannot be read, which its state says
                self._follow(name)
        return {state.name: state for state in states if state.condition != "gone"}

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        async with self._locks[machine.name]:
            self._copies.forget(machine.name)
            await boot.start(self._site, self._vm(machine.name), machine, attachment, serving, self._digests)
            await thin_line.hash_ahead(self._site, self._vm(machine.name))

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        async with self._locks[machine.name]:
            vm = self._vm(machine.name)
            coming = Move(name=move, role="incoming", tuning=tuning, peer=self._peers.pop(move, None))
            where, digests = self._site.addresses, self._digests
            target = await arrival.prepare(self._site, vm, machine, attachment, serving, coming, where, digests)
            await thin_line.hash_ahead(self._site, vm)  # for its next move
            return target

    async def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        async with self._locks[name]:
            source = await self._leaving(name, move, target, tuning)
        async for figures in source.disk():
            yield figures

    async def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        async with self._locks[name]:
            source = await self._leaving(name, move, target, tuning)
        guarded = transfer.thin(tuning, self._site.options)  # weft-transfer notices a cut itself
        async for figures in source.memory():
            if not guarded:
                guarded = True
                self._guard(name, target)
            yield figures

    async def _leaving(self, name: str, move: str, target: Target, tuning: Tuning) -> Source:
        vm = self._vm(name)
        return await departure.begin(
            vm, move, target, tuning, self._site, self._several, self._digests, self._peers.pop(move, None)
        )

    def _guard(self, name: str, target: Target) -> None:
        self._look_after(name, guard(self._vm(name).rescue, memory(target)))

    def _look_after(self, name: str, looking: Coroutine[Any, Any, None]) -> None:
        """Run one guard for each machine: the newest one."""
        if name in self._guards:
            self._guards[name].cancel()
        self._guards[name] = asyncio.get_running_loop().create_task(looking)

    def _follow(self, name: str, anew: bool = False) -> None:
        """Let the rest of a machine's memory follow it, also over a path that is cut for a while. This is done once for
        each move, and again only with `anew`."""
        vm = self._vm(name)
        move, known = _followed(vm.record()), self._followed.get(name)
        if move is None or not vm.runs():
            return
        if known == move.name and not (anew and self._guards[name].done()):
            return
        self._followed[name] = move.name
        multipath = self._several and move.target is not None and len(move.target.memory) > 1
        self._look_after(name, postcopy.follow(vm, move, multipath))

    async def switchover(self, name: str, move: str) -> Figures:
        async with self._locks[name]:
            figures = await departure.switchover(self._vm(name), move, self._site, self._several)
        self._follow(name)
        return figures

    async def arrived(self, name: str, move: str) -> bool:
        return await arrival.arrived(self._vm(name), move)

    async def activate(self, name: str, move: str) -> Figures:
        async with self._locks[name]:
            figures = await arrival.activate(self._vm(name), move)
        self._follow(name)
        return figures

    async def hold(self, name: str) -> None:
        vm = self._vm(name)
        if await vm.condition() == "running":
            await vm.monitor.execute("stop")

    async def abort(self, name: str, move: str) -> None:
        vm = self._vm(name)
        async with self._locks[name]:
            kept = vm.record()
            if kept is None or kept.move is None or kept.move.name != move:
                return  # nothing of this move is here
            if kept.move.role == "outgoing":
                await departure.back(vm, self._site)
            else:
                await arrival.leave(vm)
                await vm.remove()

    async def discard(self, name: str) -> None:
        vm = self._vm(name)
        async with self._locks[name]:
            try:
                state = await vm.state()
            except MonitorAway:
                if not _handed_over(vm.record()):
                    raise
            else:
                if state.condition in ("running", "waiting", "paused"):
                    raise Fenced(f"{name} is {state.condition} here")
                if COMING in state.detail:
                    self._follow(name, anew=True)
                    raise HypervisorError(f"{name}: {state.detail}")
            await arrival.leave(vm)
            await vm.remove()

    async def stop(self, name: str) -> None:
        vm = self._vm(name)
        async with self._locks[name]:
            patience = float(self._site.options.get("shutdown_seconds", "20"))
            with suppress(MonitorAway, Garbled):  # a QEMU that does not answer is ended
                if patience > 0 and await vm.condition() == "running":
                    await vm.agent.shut_down()
                    with suppress(MonitorAway):  # QEMU has ended already
                        await vm.monitor.execute("system_powerdown")
                    await process.ended(vm.folder, patience)
            await arrival.leave(vm)
            await vm.remove(disk=False)
            self._copies.forget(name)

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        async with self._locks[name]:
            await self._vm(name).link(nic, up)

    async def announce(self, name: str) -> None:
        times = {"initial": 50, "max": 550, "rounds": 5, "step": 100}  # ms, and how often
        await self._vm(name).monitor.execute("announce-self", times)

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        vm = self._vm(name)
        if not vm.runs():
            raise HypervisorError(f"{name}: there is no guest: its QEMU does not run")
        return await vm.agent.run(program, *arguments, seconds=seconds)

    async def answers(self, name: str) -> bool:
        """Return whether the guest's agent answers, as Answering.answers does."""
        return await self._vm(name).agent.answers()


def _handed_over(kept: Record | None) -> bool:
    """Return whether all of a machine is elsewhere, so that nothing is lost with its QEMU here."""
    move = kept.move if kept is not None else None
    return move is not None and move.role == "outgoing" and move.handed is not None and not move.tuning.post_copy


def _followed(kept: Record | None) -> Move | None:
    """Return the move whose memory may still be on the way after its switchover; None if there is none."""
    move = kept.move if kept is not None else None
    if move is None or move.target is None:
        return None
    return move if move.coming or move.irrevocable else None
