"""What a connection over TLS has shown: the application is told whose certificate it was made with."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.core.credential_proofs import Peer
from controller.trust.x509 import Unreadable, peer

TLS_PEER = "weft.shown"
"""Key of an ASGI scope, there if the connection is over TLS."""


@dataclass
class TlsPeer:
    """One connection: whose certificate it was made with, None without one. `cleared` is until when that was looked up
    to be good."""

    peer: Peer | None
    cleared: datetime | None = None


def told(app: Any, transport: asyncio.BaseTransport) -> Any:
    """The application of one connection, whose handshake is done, and with it the certificate verified."""
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return app
    der = tls.getpeercert(binary_form=True)
    try:
        shown = TlsPeer(peer(der) if der else None)
    except Unreadable:  # the controller's own, shown by somebody who should not have it
        shown = TlsPeer(None)

    async def telling(scope: Any, receive: Any, send: Any) -> None:
        scope[TLS_PEER] = shown
        await app(scope, receive, send)

    return telling
