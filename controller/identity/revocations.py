"""The revocation list and the trusted authorities, as agents get them on the stream of their desired state."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from controller.agents.registry import Agents
from controller.identity.certificates import Certificates
from controller.replication.replicas import Replicas
from controller.wire.certificates import Revocations

REFRESH = 6 * 3600.0
"""Seconds after which the list is made anew although nothing was revoked: a list is valid for a day."""


LOOK = 2.0
"""Seconds between two looks at the authority's directory."""

PAUSE = 0.5
"""Least seconds between two lists."""


class RevocationList:
    """The revocation list, made once for all agents. `number` changes whenever agents have to get it again."""

    def __init__(self, certificates: Certificates, agents: Agents, replicas: Replicas) -> None:
        self._certificates, self._agents, self._replicas = certificates, agents, replicas
        self._number, self._made, self._made_at = 0, -1, time.monotonic() - PAUSE
        self._document: Revocations | None = None
        self._turn = asyncio.Lock()
        self._later: asyncio.TimerHandle | None = None
        replicas.hear["revoked"] = lambda who, words: self._stale()
        replicas.look.append(self._look)

    @property
    def number(self) -> int:
        """The number of the list, which grows each time that the list may have changed."""
        if time.monotonic() - self._made_at > REFRESH:
            self._stale()
        return self._number

    @property
    def authorities(self) -> str | None:
        """The certificates of the trusted authorities, PEM; None where no certificates are issued."""
        authority = self._certificates.authority
        return authority.authorities if authority is not None else None

    async def watch(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Check again and again, until cancelled, whether the authority has changed, and tell agents at once."""
        while (authority := self._certificates.authority) is not None:
            await asyncio.sleep(LOOK)
            if await asyncio.to_thread(authority.look):
                await changed()
                self._stale()

    def changed(self) -> None:
        """Tell the agents of all replicas that a certificate was revoked here."""
        self._replicas.tell("revoked")
        self._stale()

    async def document(self) -> Revocations | None:
        """Return the list as it is now; None where no certificates are issued. Raises Unavailable and AuthorityAway."""
        if self._certificates.authority is None:
            return None
        async with self._turn:
            if self._made != (number := self.number):
                self._document, self._made = Revocations(crl=await self._certificates.crl()), number
            return self._document

    async def _look(self) -> None:
        self._stale()

    def _stale(self) -> None:
        """Have the list made anew: at once, or `PAUSE` after the last time, so that many revocations make few lists."""
        left = self._made_at + PAUSE - time.monotonic()
        if left <= 0:
            self._renew()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(left, self._renew)

    def _renew(self) -> None:
        self._later, self._made_at = None, time.monotonic()
        self._number += 1
        self._agents.wake_all()
