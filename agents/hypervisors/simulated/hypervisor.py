"""The simulated driver: it keeps every rule of the interface, and runs no machine."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from agents.hypervisors.hypervisor import Attachment, Capabilities, Fenced, HypervisorError, Refused, Site
from agents.hypervisors.simulated.faults import Died, Faults
from agents.hypervisors.simulated.machines import Machines, Record
from agents.hypervisors.simulated.options import Options
from agents.hypervisors.simulated.precopy import rounds
from agents.hypervisors.simulated.transfer import SCHEME, Transfer
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning


class SimulatedHypervisor:
    """A simulated hypervisor. It keeps its machines in files below `site.state_dir`, and moves them to the directory
    that the target names."""

    def __init__(self, site: Site) -> None:
        self.faults = Faults(site.state_dir)
        self._directory, self._options = site.state_dir, Options(site.options)
        self._machines = Machines(site.state_dir)
        self._transfer = Transfer(self._machines, self._options, self.faults)

    async def capabilities(self) -> Capabilities:
        """Return the capabilities: live, with disks, without a guest."""
        return Capabilities(version="simulated 1", disk=True)

    def images(self) -> frozenset[str]:
        machines = [found.machine for found in self._machines.all().values()]
        return frozenset(m.image for m in machines) | {m.disk.base for m in machines if m.disk is not None}

    async def machines(self) -> Mapping[str, MachineState]:
        """Return the machines from the files."""
        await self.faults.strike("machines")
        found = self._machines.all()
        rates = {name: self._options.rates(record.machine) for name, record in found.items()}
        return {name: record.state(rates[name].used, rates[name].dirty) for name, record in found.items()}

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        """Boot the machine."""
        async with self._call("start", machine.name):
            with self._machines.change(machine.name) as record:
                if record is not None and record.condition == "running":
                    return
                if record is not None and record.condition != "stopped":
                    raise Fenced(f"{machine.name} is {record.condition} here")
                fresh = self._fresh(machine, attachment, serving)
                fresh.condition, fresh.boot = "running", secrets.token_hex(4)
                self._machines.write(fresh)

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        """Let the machine wait, if there is room."""
        async with self._call("prepare", machine.name):
            with self._machines.change(machine.name) as record:
                if record is None or record.condition == "stopped":
                    fresh = self._fresh(machine, attachment, serving)
                    fresh.coming = move
                    self._machines.write(fresh)
                elif record.condition != "waiting" or record.coming != move:
                    raise Fenced(f"{machine.name} is {record.condition} here")
        where = f"{SCHEME}{self._directory.absolute()}"
        return Target(memory=[where], disk=where if machine.disk else None)

    async def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Copy a tenth of the disk; the rest is shared."""
        disk = self._transfer.begin(name, move, target).machine.disk
        async with self._call("disk", name):
            async for figures in self._transfer.send("disk", name, move, [disk.bytes // 10] if disk else [], tuning):
                yield figures

    async def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        """Copy the memory round by round."""
        rates = self._options.rates(self._transfer.begin(name, move, target).machine, tuning)
        async with self._call("memory", name):
            async for figures in self._transfer.send("memory", name, move, rounds(rates, tuning), tuning):
                yield figures

    async def switchover(self, name: str, move: str) -> Figures:
        """Hand over the rest."""
        async with self._call("switchover", name):
            return await self._transfer.finish(name, move)

    async def arrived(self, name: str, move: str) -> bool:
        """Return what the source wrote into this machine's file."""
        record = self._machines.read(name)
        if record is None or record.coming != move or not record.arrived:
            return False
        if record.frozen and not record.ran:
            raise HypervisorError(f"{name} does not answer")
        return record.ran or record.condition != "stopped"

    async def activate(self, name: str, move: str) -> Figures:
        """Run the machine that has arrived."""
        async with self._call("activate", name):
            record = self._machines.here(name)
            leaves = record.leaving is not None and record.condition != "running"
            lost = record.condition == "stopped" and not record.ran
            if record.coming != move or not record.arrived or leaves or lost:
                raise Fenced(f"{name} is {record.condition} here, and its state is not all here by move {move}")
            if record.condition != "stopped":
                self._machines.turn(name, condition="running", ran=True)
            return Figures()

    async def hold(self, name: str) -> None:
        """Pause the machine if it runs."""
        async with self._call("hold", name):
            with self._machines.change(name) as record:
                if record is not None and record.condition == "running":
                    self._machines.write(record.model_copy(update={"condition": "paused"}))

    async def abort(self, name: str, move: str) -> None:
        """Let the source run on, and the destination forget the machine."""
        async with self._call("abort", name):
            with self._machines.change(name) as record:
                if record is None:
                    return
                if record.coming == move and record.leaving is None:
                    self._machines.remove(name)
                elif record.leaving in (move, None) and record.condition in ("running", "paused", "moved"):
                    changes: dict[str, object] = {
                        "condition": "running",
                        "leaving": None,
                        "target": None,
                        "copied": set(),
                    }
                    self._machines.write(record.model_copy(update=changes))

    async def discard(self, name: str) -> None:
        """Forget the machine, unless it runs or waits."""
        async with self._call("discard", name):
            with self._machines.change(name) as record:
                if record is not None and record.condition in ("running", "waiting"):
                    raise Fenced(f"{name} is {record.condition} here")
                self._machines.remove(name)

    async def stop(self, name: str) -> None:
        """End the machine if it runs."""
        async with self._call("stop", name):
            with self._machines.change(name) as record:
                if record is not None and record.condition in ("running", "paused"):
                    self._machines.write(record.model_copy(update={"condition": "stopped", "frozen": False}))

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        """Connect or disconnect a cable. If only one vNIC has its cable in, that vNIC serves."""
        async with self._call("link", name):
            record = self._machines.here(name)
            links = {**record.links, nic: up}
            only: list[Nic] = [nic for nic, is_up in links.items() if is_up]
            self._machines.turn(name, links=links, serving=only[0] if len(only) == 1 else record.serving)

    async def announce(self, name: str) -> None:
        """Count the announcements."""
        async with self._call("announce", name):
            record = self._machines.here(name)
            if record.condition != "running":
                raise HypervisorError(f"{name} is {record.condition} and cannot announce itself")
            self._machines.turn(name, announced=record.announced + 1)

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        """Raise HypervisorError: a simulated machine has no guest."""
        raise HypervisorError(f"{name} has no guest: it is simulated")

    def die(self, name: str) -> None:
        """Let the machine end by itself, as a hypervisor's process may. For tests."""
        self._machines.turn(name, condition="stopped")

    def freeze(self, name: str, frozen: bool) -> None:
        """Let the machine's hypervisor stop answering, or answer again. For tests."""
        self._machines.turn(name, frozen=frozen)

    @asynccontextmanager
    async def _call(self, call: str, name: str) -> AsyncIterator[None]:
        """Run a call with its faults and delays; a machine that dies is stopped."""
        try:
            await self.faults.strike(call)
            await self._options.pass_by(self._options.number("delay"))
            self._ask(call, name)
            yield
            await self.faults.strike(f"{call}.after")
        except Died:
            if self._machines.read(name) is not None:
                self.die(name)
            raise

    def _ask(self, call: str, name: str) -> None:
        """Raise HypervisorError if the call needs an answer of the machine, and the machine gives none."""
        record = self._machines.read(name)
        if record is None or not record.frozen:
            return
        ended = call == "stop" or (call == "abort" and record.leaving is None and record.coming is not None)
        if not ended and not (call == "discard" and record.condition == "moved"):
            raise HypervisorError(f"{name} does not answer")

    def _fresh(self, machine: Machine, attachment: Attachment, serving: Nic) -> Record:
        there = [record for record in self._machines.all().values() if record.condition not in ("moved", "stopped")]
        if machine.memory + sum(record.machine.memory for record in there) > (room := self._options.number("room")):
            raise Refused(f"no room for {machine.memory} bytes of memory: there are {room:.0f} for all machines")
        links: dict[Nic, bool] = {"a": serving == "a", "b": serving == "b"}
        return Record(machine=machine, condition="waiting", serving=serving, bridge=attachment.bridge, links=links)
