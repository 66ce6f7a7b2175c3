"""Server-sent events (WHATWG HTML, section 9.2). A stream ends when its client goes or the controller stops."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse

from controller.core.unavailable import Unavailable

HEARTBEAT = 15.0
"""Seconds of silence after which a comment line is sent, so that either side finds out when the other is gone."""

LOOK = 1.0
"""Seconds: nothing is sent for longer than that after its reader may not read any more."""

CONTENT: dict[str, Any] = {
    "text/event-stream": {"schema": {"type": "string", "description": "Server-sent events."}},
}


def event(name: str, number: int | None, data: str) -> bytes:
    """One event; `data` is JSON on one line. One without a number is not resumed after."""
    identity = "" if number is None else f"id: {number}\n"
    return f"{identity}event: {name}\ndata: {data}\n\n".encode()


def compact(data: Any) -> str:
    """JSON on one line."""
    return json.dumps(data, separators=(",", ":"), default=str)


def respond(events: AsyncIterator[bytes]) -> StreamingResponse:
    """The answer that carries a stream."""
    return StreamingResponse(
        events, media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


async def while_allowed(
    events: AsyncGenerator[bytes, None], still: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """The events until `still` says no, which is asked before one is sent, or cannot be told."""
    looked = time.monotonic()
    async with aclosing(events):
        async for one in events:
            if time.monotonic() - looked >= LOOK:
                try:
                    if not await still():
                        return
                except Unavailable:
                    return
                looked = time.monotonic()
            yield one


async def woken(wake: asyncio.Event, stopping: asyncio.Event) -> bool | None:
    """Waits for `wake` and clears it: True. None after a heartbeat's time, False when the controller stops, which sets
    `wake` as well (`Region.stop`): a region's streams are many, and each would need two tasks to wait for both."""
    if not stopping.is_set():
        try:
            async with asyncio.timeout(HEARTBEAT):
                await wake.wait()
        except TimeoutError:
            return None
    if stopping.is_set():
        return False
    wake.clear()
    return True


COMMENT = b": still here\n\n"
OPENING = b": weft\n\n"


def last_id(header: str | None) -> int | None:
    """The number in a Last-Event-ID header; None if there is none, or something else in it."""
    return int(header) if header and header.isascii() and header.isdigit() and len(header) < 19 else None
