"""The MTU of the way to other cloudlets, by packets that must not be fragmented (RFC 1191)."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from agents import command
from controller.wire.checks import Result, failed, ok, warning

HEADERS = 28
"""Bytes of IPv4's and ICMP's headers."""

WANTED = 1500
"""Bytes; tunnels subtract from it."""

_LEAST, _MOST = 576, 9216
_SECONDS = 5.0
_TOLD = re.compile(r"mtu ?[=:] ?(\d{3,5})")


async def results(vteps: Sequence[str], wanted: int) -> list[Result]:
    """Return a result for each VTEP. `wanted` is the MTU that the settings assume."""
    return await asyncio.gather(*(_result(vtep, wanted) for vtep in vteps))


async def _result(vtep: str, wanted: int) -> Result:
    subject = f"path to {vtep}"
    try:
        mtu = await largest(lambda size: _probe(vtep, size))
    except (OSError, TimeoutError) as error:
        return failed(subject, f"ping cannot be run: {error}", "apt install iputils-ping")
    if mtu is None:
        return warning(subject, "does not answer pings", "let ICMP through, also 'fragmentation needed'")
    if mtu >= wanted:
        return ok(subject, f"MTU {mtu} bytes")
    remedy = f"raise the MTU on the way, or set path_mtu = {mtu} in [ipsec] and a smaller MTU for endpoints"
    return warning(subject, f"MTU {mtu} bytes, and the settings assume {wanted}", remedy)


async def largest(probe: Callable[[int], Awaitable[int]]) -> int | None:
    """Return the largest size, in bytes, of an IP packet that passes; None if not even the smallest does. `probe` sends
    a packet of a size, and returns the largest size that may pass after its answer: its own if it passed."""
    if await probe(_LEAST) < _LEAST:
        return None
    low, high, size = _LEAST, _MOST, WANTED
    while low < high:
        passing = await probe(size)
        low, high = (size, high) if passing >= size else (low, max(low, passing))
        size = (low + high + 1) // 2
    return low


async def _probe(vtep: str, size: int) -> int:
    argv = ("ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", str(size - HEADERS), vtep)
    ended = await command.run(*argv, seconds=_SECONDS)
    if ended.code == 0:
        return size
    told = _TOLD.search(ended.out + ended.complaint)
    return min(size - 1, int(told[1])) if told else size - 1
