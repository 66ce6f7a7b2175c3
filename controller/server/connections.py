"""HTTP connections of the API. Limits their number, in all and per peer, and the time for a handshake, for a request to
arrive and for an answer to leave; uvicorn's own protocol has no such limits. The only file that imports h11."""

import asyncio
import math
import resource
import ssl
import sys
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.identity.tls_peer import told
from controller.runtime.peer import peer
from controller.runtime.problems import Problem, response
from controller.runtime.turns import Turns
from controller.server.response_headers import HEADERS

SPARE = 256
"""Open files kept free for other uses than connections: the database, listening sockets, imported files."""

RETRY = 5
"""Seconds in the `Retry-After` of an answer that refuses a connection because there are too many."""

GOODBYE = 5.0
"""Seconds that a peer has to close TLS after the controller has closed its side."""

# Bytes that asyncio's TLS buffers for each connection. The default is 256 KiB, but a record has at most 16 KiB.
SSLProtocol.max_size = 32 * 1024


def room() -> int:
    """Raise the limit of open files to the maximum, and return how many connections there are files for."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return sys.maxsize if hard == resource.RLIM_INFINITY else max(hard - SPARE, 1)


class Connections:
    """The open connections, counted from the moment they are accepted. `seconds` is the maximum time for a handshake,
    for a request to arrive, and for a peer to read nothing of an answer."""

    def __init__(self, total: int, per_peer: int, seconds: float) -> None:
        self.total, self.per_peer, self.seconds = total, per_peer, seconds
        self.handshakes = Turns()
        self._open: Counter[str] = Counter()

    def enter(self, peer: str) -> Problem | None:
        """Count one more connection, or return the problem that refuses it."""
        headers = {"Retry-After": str(RETRY)}
        if self._open[peer] >= self.per_peer:
            return Problem(503, f"There are {self.per_peer} connections from {peer} already.", headers=headers)
        if self._open.total() >= self.total:
            return Problem(503, f"There are {self.total} connections already.", headers=headers)
        self._open[peer] += 1
        return None

    def leave(self, peer: str) -> None:
        """Stop counting a connection that is closed."""
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]

    def protocol(self, tls: ssl.SSLContext | None = None) -> Callable[..., asyncio.Protocol]:
        """Return the factory of uvicorn's protocol for each connection; with `tls`, over TLS. uvicorn itself gets no
        TLS context, because it would see a connection only after the handshake, which has no time limit there."""
        return partial(_Connection, self, tls)


def _forget(error: Exception) -> None:
    """Drop the error's traceback. It refers to a frame of the library that holds the error itself, the connection, its
    socket and its buffers. Only the cycle collector frees such rings: a controller grew by 756 MiB in a siege of ten
    minutes."""
    error.__traceback__ = None


class _Connection(H11Protocol):
    def __init__(self, connections: Connections, tls: ssl.SSLContext | None, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._all, self._tls, self._counted = connections, tls, ""
        self._arrives: asyncio.TimerHandle | None = None
        self._leaves: asyncio.TimerHandle | None = None
        self._greeting: asyncio.Task[None] | None = None
        self._early = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        address = transport.get_extra_info("peername")
        name = peer(address[0]) if address else "the unix socket"
        refusal = self._all.enter(name)
        if refusal is None:
            self._counted = name
        if self._tls is None:
            self._begin(transport, refusal)
        elif refusal is None:
            self._greeting = self.loop.create_task(self._greet(transport, self._tls))
        else:
            transport.abort()  # no answer is possible before TLS is up

    async def _greet(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        # Not in `connection_made`: Debian 12's Python (3.11.2) begins to read after that nevertheless, and the first
        # octets of a handshake that waits for its turn would be taken for a request.
        transport.pause_reading()
        seconds = self._all.seconds
        await self._all.handshakes.wait(self._counted)
        try:
            secure = await self.loop.start_tls(
                transport,
                self,
                tls,
                server_side=True,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=min(seconds, GOODBYE),
            )
        except OSError as error:  # of TLS, the connection, or a timeout; asyncio does not call connection_lost then
            _forget(error)
            transport.abort()
            self._leave()
            return
        if secure is not None and self._counted:
            self._begin(secure, None)

    def _begin(self, transport: asyncio.Transport, refusal: Problem | None) -> None:
        super().connection_made(transport)
        if refusal is not None:
            self._end(refusal)
            return
        self.app = told(self.app, transport)
        self._wait()
        if self._early:
            super().data_received(self._early)

    def data_received(self, data: bytes) -> None:
        """Buffer the data that arrives with the end of the handshake, before `_greet` continues."""
        if self.scheme is None:
            self._early += data
        else:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        for timer in (self._arrives, self._leaves, self.timeout_keep_alive_task):  # uvicorn's own: it survives a reset
            if timer:
                timer.cancel()
        if self.scheme is not None:
            super().connection_lost(exc)

    def _leave(self) -> None:
        if self._counted:
            self._all.leave(self._counted)
            self._counted = ""

    def handle_events(self) -> None:
        super().handle_events()
        self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._leaves = self.loop.call_later(self._all.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        if self._leaves:
            self._leaves.cancel()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        error = sys.exception()  # the error that h11 has just raised
        if isinstance(error, h11.RemoteProtocolError):
            _forget(error)
            self._end(Problem(error.error_status_hint, f"This is not HTTP as it is spoken here: {error}."))
        else:
            self._end(Problem(400, msg))

    def _wait(self) -> None:
        """Start or stop the timer of the request. It runs while a request arrives, and while the connection waits for
        one."""
        arriving = self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()
        if arriving and self._arrives is None:
            self._arrives = self.loop.call_later(self._all.seconds, self._late)
        elif not arriving and self._arrives is not None:
            self._arrives.cancel()
            self._arrives = None

    def _late(self) -> None:
        seconds = math.ceil(self._all.seconds)
        self._end(Problem(408, f"The request did not arrive within {seconds} seconds."))

    def _end(self, problem: Problem) -> None:
        """Send this problem as the last answer, unless another answer has begun, and close the connection."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = response(problem, self.scope["path"] if self.scope else "/")
            answer.headers.update(HEADERS)
            headers = [*answer.raw_headers, (b"connection", b"close")]
            for event in (
                h11.Response(status_code=problem.status, headers=headers),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
