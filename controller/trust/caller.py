"""The TLS that route servers are called with: version 1.3, and a certificate of this region's authority for the host or
address of their URL, which was not revoked.

Every connection is made with the newest context, and connections that there are keep theirs: nothing is cut when it
changes. Before there is a revocation list nobody is believed.
"""

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable

from controller.core.unavailable import Unavailable
from controller.trust.authority import Authority, AuthorityAway
from controller.wire.certificates import Revocations

log = logging.getLogger(__name__)

LOOK = 2.0
"""Seconds between two looks at who is trusted and who is revoked."""


class Caller:
    """`context` is what to call with, always the same one; `lists` gives the revocation list as it is now."""

    def __init__(self, authority: Authority, lists: Callable[[], Awaitable[Revocations | None]]) -> None:
        self._authority, self._lists = authority, lists
        self._trusted = ""
        self.context = _base()

        class Connection(_Newest):
            newest = self.context

        self.context.sslobject_class = self._connection = Connection

    async def run(self) -> None:
        """Keeps up with the authority, for ever. A list that cannot be had leaves the one of before, until it ends."""
        said = ""
        while True:
            try:
                await self.renew()
                said = ""
            except (AuthorityAway, Unavailable) as away:
                if said != (said := str(away)):
                    log.error("there is no new revocation list to judge route servers by: %s", away)
            await asyncio.sleep(LOOK)

    async def renew(self) -> None:
        """Takes over whom to trust and who is revoked. Raises AuthorityAway and Unavailable."""
        revocations = await self._lists()
        trusted = self._authority.authorities + (revocations.crl if revocations is not None else "")
        if trusted != self._trusted:
            newest = _base()
            _trust(newest, trusted)
            self._connection.newest = newest
            self._trusted = trusted


class _Newest(ssl.SSLObject):
    """A connection's context can be changed until its handshake."""

    newest: ssl.SSLContext

    def do_handshake(self) -> None:
        self.context = self.newest
        super().do_handshake()


def _base() -> ssl.SSLContext:
    """What a connection takes over from the context that it begins with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    return context


def _trust(context: ssl.SSLContext, text: str) -> None:
    """The library reads revocation lists from files only; this one is in memory."""
    file = os.memfd_create("trusted", os.MFD_CLOEXEC)
    try:
        os.write(file, text.encode())
        context.load_verify_locations(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
