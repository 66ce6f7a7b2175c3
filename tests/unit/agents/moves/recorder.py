"""A driver that only records its calls, in their order."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from agents.hypervisors.hypervisor import Attachment, Capabilities, HypervisorError, Site
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning

asked: list[tuple[str, str]] = []
"""The calls, each with its move, or with its machine if the call has no move."""

fails: set[str] = set()
"""Calls that fail."""

hangs: set[str] = set()
"""Calls that never end."""


class Recorder:
    """A hypervisor with every optional call."""

    async def _call(self, call: str, what: str) -> None:
        asked.append((call, what))
        await asyncio.sleep(0)
        if call in hangs:
            await asyncio.Event().wait()
        if call in fails:
            raise HypervisorError(f"{call} fails")

    async def capabilities(self) -> Capabilities:
        return Capabilities(version="recorder", disk=True)

    async def machines(self) -> Mapping[str, MachineState]:
        return {}

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        await self._call("start", machine.name)

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        await self._call("prepare", move)
        return Target(memory=["recorder:"])

    async def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        await self._call("disk", move)
        yield Figures()

    async def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        await self._call("memory", move)
        yield Figures()

    async def switchover(self, name: str, move: str) -> Figures:
        await self._call("switchover", move)
        return Figures()

    async def arrived(self, name: str, move: str) -> bool:
        return True

    async def activate(self, name: str, move: str) -> Figures:
        await self._call("activate", move)
        return Figures()

    async def hold(self, name: str) -> None:
        await self._call("hold", name)

    async def abort(self, name: str, move: str) -> None:
        await self._call("abort", move)

    async def discard(self, name: str) -> None:
        await self._call("discard", name)

    async def stop(self, name: str) -> None:
        await self._call("stop", name)

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        await self._call("link", name)

    async def announce(self, name: str) -> None:
        await self._call("announce", name)

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        raise HypervisorError("nobody is there")


def driver(site: Site) -> Recorder:
    """Return a Recorder; the entry point."""
    return Recorder()
