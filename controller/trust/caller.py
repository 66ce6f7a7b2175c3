"""The TLS with which the controller calls route servers: version 1.3. A route server must show a certificate of this
region's authority for the host or address of its URL, and one that is not revoked.

Every connection is made with the newest context, and existing connections keep theirs, so a change of the context ends
no connection. Before there is a revocation list, no route server is trusted."""

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
"""Seconds between two checks of the trusted authorities and the revocations."""


class Caller:
    """`context` is the context for calls, always the same object; `lists` returns the revocation list as it is now."""

    def __init__(self, authority: Authority, lists: Callable[[], Awaitable[Revocations | None]]) -> None:
        self._authority, self._lists = authority, lists
        self._trusted = ""
        self.context = _base()

        class Connection(_Newest):
            newest = self.context

        self.context.sslobject_class = self._connection = Connection

    async def run(self) -> None:
        """Follow the authority, until cancelled. If no new list is available, the last one is used until it ends."""
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
        """Take over the trusted authorities and the revocations. Raises AuthorityAway and Unavailable."""
        revocations = await self._lists()
        trusted = self._authority.authorities + (revocations.crl if revocations is not None else "")
        if trusted != self._trusted:
            newest = _base()
            _trust(newest, trusted)
            self._connection.newest = newest
            self._trusted = trusted


class _Newest(ssl.SSLObject):
    """A connection that takes the newest context for its handshake, until which its context can be changed."""

    newest: ssl.SSLContext

    def do_handshake(self) -> None:
        self.context = self.newest
        super().do_handshake()


def _base() -> ssl.SSLContext:
    """Return a context with the settings that a connection keeps from the context it begins with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    return context


def _trust(context: ssl.SSLContext, text: str) -> None:
    """Load certificates and lists into a context. The library reads revocation lists from files only, so the text goes
    into a file in memory."""
    file = os.memfd_create("trusted", os.MFD_CLOEXEC)
    try:
        os.write(file, text.encode())
        context.load_verify_locations(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
