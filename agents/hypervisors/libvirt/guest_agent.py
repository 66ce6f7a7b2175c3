"""The guest's agent, reached through libvirt, which alone holds its socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.libvirt.connection import Connection, NobodyThere
from agents.hypervisors.qemu.guest_agent import Ask, GuestAgent

_POLL = 0.3
_ANSWER = 5  # seconds to answer one request


class DomainAgent(GuestAgent):
    """The agent in the guest of one domain."""

    def __init__(self, name: str, uuid: str, libvirt: Connection) -> None:
        super().__init__(name, Path())
        self._uuid, self._libvirt = uuid, libvirt

    async def shut_down(self) -> None:
        with suppress(HypervisorError):  # this request gets no answer
            await self._libvirt.ask(self._uuid, json.dumps({"execute": "guest-shutdown"}), 1)

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Ask]:
        yield self._request

    async def _request(self, command: str, arguments: dict[str, Any]) -> str:
        request = json.dumps({"execute": command, "arguments": arguments})
        while True:
            try:
                return await self._libvirt.ask(self._uuid, request, _ANSWER)
            except NobodyThere:
                await asyncio.sleep(_POLL)
