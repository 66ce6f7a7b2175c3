"""uvicorn without its pauses of a tenth of a second: tests start and stop it thousands of times."""

import asyncio
import socket
from contextlib import suppress

import uvicorn

from lab.patience import eventually

_PAUSE = 0.002
"""Seconds between two checks for running requests."""


class PromptServer(uvicorn.Server):
    """A uvicorn that stops `grace` seconds after it is told to, or when its requests have ended. Pytest handles
    signals.

    In that time tasks that the stop has woken can end: a task that is cancelled while it opens a connection to SQLite
    leaves it open (aiosqlite), and pytest reports that."""

    def __init__(self, config: uvicorn.Config, grace: float) -> None:
        super().__init__(config)
        self._grace = grace
        self._told = asyncio.Event()

    async def serve_quietly(self) -> None:
        """Serve until `stop`; uvicorn's `serve` without its signal handlers."""
        await self._serve()

    def stop(self) -> None:
        """End `serve_quietly`, after the requests under way."""
        self.should_exit = True
        self._told.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(self._grace)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await eventually(lambda: not self._busy, pause=_PAUSE)
        for task in self.server_state.tasks:
            task.cancel()
        await self.lifespan.shutdown()

    @property
    def _busy(self) -> bool:
        return bool(self.server_state.connections or self.server_state.tasks)
