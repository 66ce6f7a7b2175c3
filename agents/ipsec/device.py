"""The device by which packets come to charon, where ESP is charon's own."""

import asyncio
from pathlib import Path

from agents import command
from agents.ipsec.guard import DEVICE

QUEUE = 4000
"""Packets that may wait for charon, which takes them one by one: the 500 that the device has by itself are 14 ms of
350 Mbit/s, and a burst of TCP is longer."""

_LENGTH = Path("/sys/class/net") / DEVICE / "tx_queue_len"


async def lengthen() -> None:
    """Makes its queue that long, if there is such a device and it has a shorter one. Raises OSError."""
    try:
        if int(await asyncio.to_thread(_LENGTH.read_text)) >= QUEUE:
            return
    except (FileNotFoundError, ValueError):
        return
    await command.run("ip", "link", "set", "dev", DEVICE, "txqueuelen", f"{QUEUE}")  # in vain: it is tried again
