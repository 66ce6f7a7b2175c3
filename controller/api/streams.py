"""Server-sent events (WHATWG HTML, section 9.2). A stream ends when its client disconnects or the controller stops."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse

from controller.core.unavailable import Unavailable

HEARTBEAT = 15.0
"""Seconds of silence after which a comment line is sent, so that either side notices when the other is gone."""

LOOK = 1.0
"""Maximum seconds for which a stream continues after its reader has lost the right to read it."""

EVENT_STREAM = "text/event-stream"

CONTENT: dict[str, Any] = {
    EVENT_STREAM: {"schema": {"type": "string", "description": "Server-sent events; `x-events` has the data of each."}},
}


def event(name: str, number: int | None, data: str) -> bytes:
    """Return one event; `data` is JSON on one line. A client cannot resume after an event without a number."""
    identity = "" if number is None else f"id: {number}\n"
    return f"{identity}event: {name}\ndata: {data}\n\n".encode()


def compact(data: Any) -> str:
    """Return `data` as JSON on one line."""
    return json.dumps(data, separators=(",", ":"), default=str)


def respond(events: AsyncIterator[bytes]) -> StreamingResponse:
    """Return the response that carries a stream."""
    return StreamingResponse(
        events, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


async def while_allowed(
    events: AsyncGenerator[bytes, None], still: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """Yield the events until `still` returns False or raises Unavailable. `still` is called before an event is sent."""
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
    """Wait for `wake` and clear it. Returns True then, None after a heartbeat's time, and False when the controller
    stops, which sets `wake` as well (`Region.stop`). A region has many streams, and each would need two tasks to wait
    for both."""
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
    """Return the number in a Last-Event-ID header; None if the header is missing or has no number."""
    return int(header) if header and header.isascii() and header.isdigit() and len(header) < 19 else None
