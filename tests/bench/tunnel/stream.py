"""A TCP stream from one namespace to another: `stream.py take ADDRESS PORT`, `stream.py give ADDRESS PORT SECONDS`.

The taker prints the Mbit/s of every whole second. The program needs only the standard library, so it starts at once."""

import socket
import sys
import time

BLOCK = 1 << 18
CONGESTION = b"cubic"
"""The congestion control. BBR mistakes a late processor for a slow line, and may stay at some Mbit/s for the whole
stream on any line."""


def take(address: str, port: int) -> None:
    """Receive one stream to its end."""
    with socket.create_server((address, port)) as server:
        print("ready", flush=True)
        link, _ = server.accept()
    buffer, began, second, came = bytearray(BLOCK), time.monotonic(), 1, 0
    while count := link.recv_into(buffer):
        came += count
        if time.monotonic() - began >= second:
            print(f"{came * 8 / 1e6:.1f}", flush=True)
            second, came = second + 1, 0


def give(address: str, port: int, seconds: float) -> None:
    """Send as fast as possible."""
    block = bytes(BLOCK)
    with socket.create_connection((address, port), timeout=10) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CONGESTION)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            link.sendall(block)


if __name__ == "__main__":
    what, where, which, *rest = sys.argv[1:]
    give(where, int(which), float(rest[0])) if what == "give" else take(where, int(which))
