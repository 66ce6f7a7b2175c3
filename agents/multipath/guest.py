"""The guest's part: the program `weft-guest` in the VM, called through the hypervisor (docs/operate/guests.md)."""

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
_PATIENCE = 15.0  # seconds on top of those that a command may take: a guest may be slow after its move
_LONGEST = 4096  # characters of an answer of `weft-guest`; usual ones have a few hundred


class Guest:
    """The guest of one machine. Every method raises HypervisorError if there is no answer, or no valid one."""

    def __init__(self, hypervisor: Hypervisor, name: str) -> None:
        self._hypervisor, self._name = hypervisor, name

    async def up(self, nic: Nic, seconds: float) -> Address:
        """Wait until the vNIC has an address and Multipath TCP was told to announce it; return the address. The guest
        then holds the address of the other vNIC, and leases again an address that it held on this one."""
        answer = await self._ask("up", nic, str(round(seconds)), seconds=seconds + _PATIENCE)
        return self._address(answer.get("address"), "up")

    async def hold(self, nic: Nic) -> None:
        """Keep the vNIC's address until it is retired, even if its lease ends."""
        await self._ask("hold", nic)

    async def announce(self, nic: Nic) -> None:
        """Announce the vNIC's address again."""
        await self._ask("announce", nic)

    async def backup(self, nic: Nic, other: Address) -> Address | None:
        """Make the vNIC's address a backup, which no new traffic uses, and return it; None if the vNIC has none. If the
        other vNIC does not have the address `other`, nothing changes, and HypervisorError is raised."""
        answer = await self._ask("backup", nic, str(other))
        return None if (held := answer.get("address", "nothing")) is None else self._address(held, "backup")

    async def retire(self, nic: Nic) -> None:
        """Withdraw the vNIC's address, then remove it."""
        await self._ask("retire", nic)

    async def sockets(self) -> list[Socket]:
        """Return the guest's TCP sockets that are not closed. Parsing runs in a thread: a guest may have, or claim,
        very many."""
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
