"""Which frames get through, identified by the names inside them (fence_frames.py), and rule texts with some rules
removed."""

import asyncio
import socket
import time
from collections.abc import Mapping

from tests.integration.agent_namespaces import Namespace
from tests.integration.fence_frames import ethernet, label


def drain(ear: socket.socket) -> bytes:
    """Return all octets that have arrived since the last call, without frames that were sent there."""
    heard = b""
    while True:
        try:
            data, (_, _, kind, *_) = ear.recvfrom(4096)
        except BlockingIOError:
            return heard
        if kind != socket.PACKET_OUTGOING:
            heard += data


async def arriving(sender: Namespace, at: Namespace, frames: Mapping[str, bytes]) -> set[str]:
    """Send the frames and return the names of those that arrive. A last frame, which always passes, marks the end."""
    with at.packets("eth0") as ear, sender.packets("eth0") as mouth:
        for frame in (*frames.values(), ethernet(0x88B5, label("last"))):
            mouth.send(frame)
        heard, deadline = b"", time.monotonic() + 10
        while label("last") not in heard:
            assert time.monotonic() < deadline, "not even the last frame arrived"
            await asyncio.sleep(0.01)
            heard += drain(ear)
    return {name for name in frames if label(name) in heard}


def without(rules: str, counter: str) -> str:
    """Return the rules without those that count into `counter`."""
    lines = rules.splitlines(keepends=True)
    kept = [line for line in lines if f"counter name {counter} drop" not in line]
    assert len(kept) < len(lines), f"no rule counts into {counter}"
    return "".join(kept)
