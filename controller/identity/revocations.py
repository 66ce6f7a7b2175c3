"""The revocation list, and who is trusted, as agents are sent it on the stream of their desired state."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from controller.agents.registry import Agents
from controller.identity.certificates import Certificates
from controller.replication.replicas import Replicas
from controller.wire.certificates import Revocations

REFRESH = 6 * 3600.0
"""Seconds after which the list is made anew, though nothing was revoked: it may be relied on for a day."""


LOOK = 2.0
"""Seconds between two looks at the authority's directory."""

PAUSE = 0.5
"""Seconds at least between two lists."""


class RevocationList:
    """Made once for all agents. `number` is another one whenever they should be sent it again."""

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
        """Counts what has happened to it."""
        if time.monotonic() - self._made_at > REFRESH:
            self._stale()
        return self._number

    @property
    def authorities(self) -> str | None:
        """Who is trusted, PEM; None where no certificates are issued."""
        authority = self._certificates.authority
        return authority.authorities if authority is not None else None

    async def watch(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Looks, for ever, whether the authority is another; agents are told at once."""
        while (authority := self._certificates.authority) is not None:
            await asyncio.sleep(LOOK)
            if await asyncio.to_thread(authority.look):
                await changed()
                self._stale()

    def changed(self) -> None:
        """Something was revoked here: agents are told, those of other replicas too."""
        self._replicas.tell("revoked")
        self._stale()

    async def document(self) -> Revocations | None:
        """The list as it is now; None where no certificates are issued. Raises Unavailable and AuthorityAway."""
        if self._certificates.authority is None:
            return None
        async with self._turn:
            if self._made != (number := self.number):
                self._document, self._made = Revocations(crl=await self._certificates.crl()), number
            return self._document

    async def _look(self) -> None:
        self._stale()

    def _stale(self) -> None:
        """At once, if that was not just done; else a moment later: many revocations make few lists."""
        left = self._made_at + PAUSE - time.monotonic()
        if left <= 0:
            self._renew()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(left, self._renew)

    def _renew(self) -> None:
        self._later, self._made_at = None, time.monotonic()
        self._number += 1
        self._agents.wake_all()
