"""The server from which other cloudlets fetch images: `weft-images serve`, as long as there are images to serve."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from agents import child
from agents.backoff import Backoff
from agents.images.fetch import PROGRAM, Store

log = logging.getLogger(__name__)


class Server:
    """One cloudlet's server at `port` of the VTEP. A region without an authority has none: it could not tell cloudlets
    from strangers. `restarted` is called when it has ended by itself."""

    def __init__(self, store: Store, port: int, restarted: Callable[[str], None] = lambda _program: None) -> None:
        self._store, self._port, self._restarted = store, port, restarted
        self._wanted: str | None = None
        self._news = asyncio.Event()
        self.port: int | None = None

    def intend(self, vtep: str | None) -> None:
        """Serve at this address from now on; None: not at all."""
        wanted = vtep if self._store.known and self._port > 0 else None
        self.port = self._port if wanted is not None else None
        if wanted != self._wanted:
            self._wanted = wanted
            self._news.set()

    async def run(self) -> None:
        """Keep the server as it is intended, until cancelled."""
        backoff = Backoff(cap=60.0)
        while True:
            self._news.clear()
            if self._wanted is None:
                await self._news.wait()
                continue
            serving = asyncio.create_task(self._serve(self._wanted))
            changed = asyncio.create_task(self._news.wait())
            try:
                await asyncio.wait((serving, changed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (serving, changed):
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await task
            if not self._news.is_set():
                self._restarted(PROGRAM)
                await asyncio.sleep(backoff.delay())

    async def _serve(self, vtep: str) -> None:
        """Run the server until it ends by itself."""
        host = f"[{vtep}]" if ":" in vtep else vtep
        argv = [PROGRAM, "serve", "--directory", str(self._store.directory)]
        argv += ["--listen", f"{host}:{self._port}", "--identity", str(self._store.identity)]
        try:
            code = await child.follow(argv, lambda _: None, lambda line: log.info("%s", line))
        except OSError as error:
            log.error("images are not served: %s cannot be started: %s", PROGRAM, error.strerror)
        else:
            log.warning("%s has ended with %s, and is started again", PROGRAM, code)
