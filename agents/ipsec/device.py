"""The device that brings packets to charon where charon does ESP itself."""

import asyncio
from pathlib import Path

from agents import command
from agents.ipsec.guard import DEVICE

QUEUE = 4000
"""Packets that may wait for charon, which takes them one by one. The device's default of 500 lasts 14 ms at 350 Mbit/s,
and a burst of TCP is longer."""

_LENGTH = Path("/sys/class/net") / DEVICE / "tx_queue_len"


async def lengthen() -> None:
    """Give the device a queue of that length, if the device exists and its queue is shorter. Raises OSError."""
    try:
        if int(await asyncio.to_thread(_LENGTH.read_text)) >= QUEUE:
            return
    except (FileNotFoundError, ValueError):
        return
    await command.run("ip", "link", "set", "dev", DEVICE, "txqueuelen", f"{QUEUE}")  # a later call tries again
