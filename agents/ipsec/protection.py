"""Encryption as the rest of the agent uses it: whether it is on, and what follows from that."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from agents.ipsec import mtu
from agents.ipsec.device import lengthen
from agents.ipsec.drops import Drops, drops
from agents.ipsec.guard import OPEN, guard
from agents.ipsec.report import told
from agents.ipsec.tunnel import Tunnels, intent, members
from agents.nft import NftError
from agents.settings import IpsecSettings
from controller.wire.desired import Desired, Endpoint
from controller.wire.tunnels import Ipsec

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds for which a missing tunnel counts as being made, and not as a problem."""

LOOK = 5.0
"""Seconds between two checks of charon's device and of the guard's drops."""


class Protection:
    """The encryption of one cloudlet. Without settings it is off: it changes nothing, and removes the guard. It calls
    `changed` when a tunnel has come or gone, when one is missing for too long, and when the guard has dropped
    something."""

    def __init__(self, settings: IpsecSettings | None, identity: Path, changed: Callable[[], None]) -> None:
        self._settings, self._changed = settings, changed
        self._tunnels: Tunnels | None = None
        self._asked: dict[str, float] = {}  # by the peer's VTEP: since when there should be a tunnel
        self._vtep, self._drops = "", Drops()
        if settings is not None:
            from agents.ipsec.strongswan import Strongswan  # imported only if it is needed

            self._tunnels = Strongswan(settings.vici, identity, self._turned)

    def guard(self, desired: Desired) -> str:
        """Return nft text that must be in force before there is any tunnel or BGP session."""
        if self._settings is None:
            return OPEN
        return guard((protected.address for protected in desired.protected), members(desired))

    def fit(self, desired: Desired) -> Desired:
        """Return the desired state with LANs whose frames still fit when they are encrypted."""
        return desired if self._settings is None else mtu.within(desired, self._settings.path_mtu)

    def intend(self, desired: Desired) -> None:
        """Set the tunnels: to all that share a pool with this cloudlet or have protected BGP with it, and to nobody
        else. They take effect soon."""
        if self._tunnels is not None:
            wanted, before, now = intent(desired), self._asked, asyncio.get_running_loop().time()
            self._tunnels.intend(wanted)
            self._vtep = wanted.vtep
            self._asked = {peer.vtep: before.get(peer.vtep, now) for peer in wanted.peers}
            if self._asked.keys() - before.keys():
                self._look_again()

    def look(self) -> None:
        """Take in the new credentials: this cloudlet's certificate or the revocation list has changed."""
        if self._tunnels is not None:
            self._tunnels.look()

    @property
    def awaited(self) -> frozenset[str]:
        """VTEPs to which a tunnel is being made for the first time. No frame goes there yet."""
        if self._tunnels is None:
            return frozenset()
        states, now = self._tunnels.states, asyncio.get_running_loop().time()
        return frozenset(v for v, at in self._asked.items() if now - at < PATIENCE and not states[v].up)

    def problems(self, endpoint: Endpoint) -> list[str]:
        """Return sentences about the endpoint's remotes that no frame can reach."""
        if self._tunnels is None:
            return []
        now = asyncio.get_running_loop().time()
        vteps = sorted({remote.vtep for remote in endpoint.remotes})
        states = [state for vtep in vteps if (state := self._tunnels.states.get(vtep)) is not None]
        down = [
            f"no IPsec tunnel to {s.peer.cloudlet} ({s.peer.vtep})"
            for s in states
            if not s.up and now - s.since >= PATIENCE
        ]
        return [*([self._tunnels.problem] if self._tunnels.problem and vteps else []), *down]

    def report(self) -> Ipsec | None:
        """Return the state of all tunnels for the controller, or None if encryption is off."""
        if self._tunnels is None:
            return None
        now = asyncio.get_running_loop().time()
        return told(self._vtep, self._tunnels.states.values(), self._drops, self._tunnels.problem, now)

    def _turned(self) -> None:
        self._changed()
        self._look_again()

    def _look_again(self) -> None:
        asyncio.get_running_loop().call_later(PATIENCE, self._changed)

    async def run(self) -> None:
        """Keep the tunnels until it is cancelled."""
        if self._tunnels is not None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._tunnels.run())
                group.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            try:
                await lengthen()
                found = await drops()
            except (NftError, OSError) as error:  # the guard is not there yet; the reconciler reports the problem
                log.debug("%s", error)
            else:
                if found != self._drops:
                    self._drops = found
                    self._changed()
            await asyncio.sleep(LOOK)
