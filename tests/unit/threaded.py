"""An application served in a thread of its own, for callers that are not asynchronous."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.unit.controller.fake_routeserver import serving


@contextmanager
def served(app: Any, **options: Any) -> Iterator[str]:
    """Serve an ASGI application on a loopback port; yield its URL. `options` are uvicorn's, such as those for TLS."""
    ready, end = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    urls: list[str] = []

    async def serve() -> None:
        async with serving(app, grace=0, **options) as url:
            urls.append(url)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(20), "the server did not start"
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()
