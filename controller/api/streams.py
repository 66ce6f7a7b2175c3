"""Server-sent events (WHATWG HTML, section 9.2). A stream ends when its client goes or the controller stops."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse

HEARTBEAT = 15.0
"""Seconds of silence after which a comment line is sent, so that either side finds out when the other is gone."""

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


async def woken(wake: asyncio.Event, stopping: asyncio.Event) -> bool | None:
    """Waits for `wake` and clears it: True. None after a heartbeat's time, False when the controller stops."""
    waits = [asyncio.ensure_future(e.wait()) for e in (wake, stopping)]
    try:
        done, _ = await asyncio.wait(waits, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if stopping.is_set():
        return False
    wake.clear()
    return True if done else None


COMMENT = b": still here\n\n"
OPENING = b": weft\n\n"


def last_id(header: str | None) -> int | None:
    """The number in a Last-Event-ID header; None if there is none, or something else in it."""
    return int(header) if header and header.isascii() and header.isdigit() and len(header) < 19 else None
