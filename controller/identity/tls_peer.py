"""The client certificate of a TLS connection, which the application finds in the ASGI scope."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controller.core.credential_proofs import Peer
from controller.trust.x509 import Unreadable, peer

TLS_PEER = "weft.shown"
"""Key of an ASGI scope, present if the connection is over TLS."""


@dataclass
class TlsPeer:
    """One connection. `peer` is the owner of its certificate, None without one. `cleared` is the time until which the
    certificate is known to be good."""

    peer: Peer | None
    cleared: datetime | None = None


def told(app: Any, transport: asyncio.BaseTransport) -> Any:
    """Return the application of one connection, which finds the connection's certificate in its scope. The handshake is
    done, and has verified the certificate."""
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return app
    der = tls.getpeercert(binary_form=True)
    try:
        shown = TlsPeer(peer(der) if der else None)
    except Unreadable:  # the controller's own certificate, shown by a client that should not have it
        shown = TlsPeer(None)

    async def telling(scope: Any, receive: Any, send: Any) -> None:
        scope[TLS_PEER] = shown
        await app(scope, receive, send)

    return telling
