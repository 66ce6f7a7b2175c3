"""The guest's part: the program `weft-guest` in the VM, asked through the hypervisor (docs/operate/guests.md)."""

import asyncio
from ipaddress import ip_address
from typing import Any

from agents.answer import shown
from agents.hypervisors.guest_json import guest_object
from agents.hypervisors.hypervisor import Hypervisor, HypervisorError
from agents.multipath.segment import Address
from agents.multipath.sockets import COMMAND, Socket, sockets
from controller.wire.machines import Nic

_PROGRAM = "weft-guest"
_PATIENCE = 15.0  # seconds beyond those that a command may take itself: a guest may be slow after its move
_LONGEST = 4096  # characters of an answer of `weft-guest`; its own have some hundred


class Guest:
    """One machine's. Everything raises HypervisorError if nobody answers, or the answer is none."""

    def __init__(self, hypervisor: Hypervisor, name: str) -> None:
        self._hypervisor, self._name = hypervisor, name

    async def up(self, nic: Nic, seconds: float) -> Address:
        """The vNIC's address, once it has one, and Multipath TCP has been told to announce it. What the other vNIC has
        is held; what this one had held is leased again."""
        answer = await self._ask("up", nic, str(round(seconds)), seconds=seconds + _PATIENCE)
        return self._address(answer.get("address"), "up")

    async def hold(self, nic: Nic) -> None:
        """The vNIC's address is there until it is taken back, whatever becomes of its lease."""
        await self._ask("hold", nic)

    async def announce(self, nic: Nic) -> None:
        """The vNIC's address is announced anew."""
        await self._ask("announce", nic)

    async def backup(self, nic: Nic, other: Address) -> Address | None:
        """The vNIC's address, by which nothing new goes from now on; None if it has none. Nothing changes if the other
        vNIC has not got the address `other`, which raises HypervisorError."""
        answer = await self._ask("backup", nic, str(other))
        return None if (held := answer.get("address", "nothing")) is None else self._address(held, "backup")

    async def retire(self, nic: Nic) -> None:
        """The vNIC's address is taken back, then gone."""
        await self._ask("retire", nic)

    async def sockets(self) -> list[Socket]:
        """The guest's TCP sockets that are not over. In a thread: a guest may have, or claim, very many."""
        return await asyncio.to_thread(sockets, await self._hypervisor.guest(self._name, *COMMAND))

    async def _ask(self, *arguments: str, seconds: float = _PATIENCE) -> dict[str, Any]:
        text = await self._hypervisor.guest(self._name, _PROGRAM, *arguments, seconds=seconds)
        try:
            return guest_object(text, _LONGEST)
        except HypervisorError as error:
            raise HypervisorError(f"{self._name}: {_PROGRAM} {arguments[0]} {error}") from None

    def _address(self, value: object, command: str) -> Address:
        try:
            return ip_address(value if isinstance(value, str) else "")
        except ValueError:
            raise HypervisorError(f"{self._name}: {_PROGRAM} {command} gives no address, but {shown(value)}") from None
