"""The MTU of the way to other cloudlets, by packets that must not be fragmented (RFC 1191)."""

from collections.abc import Awaitable, Callable, Sequence

from agents import command
from controller.wire.checks import Result, failed, ok, warning

HEADERS = 28
"""Bytes of IPv4's and ICMP's headers."""

WANTED = 1500
"""Bytes; tunnels subtract from it."""

_LEAST, _MOST = 576, 9216
_SECONDS = 5.0


async def results(vteps: Sequence[str], wanted: int) -> list[Result]:
    """Return a result for each VTEP. `wanted` is the MTU that the settings assume."""
    return [await _result(vtep, wanted) for vtep in vteps]


async def _result(vtep: str, wanted: int) -> Result:
    subject = f"path to {vtep}"
    try:
        mtu = await largest(lambda size: _passes(vtep, size))
    except (OSError, TimeoutError) as error:
        return failed(subject, f"ping cannot be run: {error}", "apt install iputils-ping")
    if mtu is None:
        return warning(subject, "does not answer pings", "let ICMP through, also 'fragmentation needed'")
    if mtu >= wanted:
        return ok(subject, f"MTU {mtu} bytes")
    remedy = f"raise the MTU on the way, or set path_mtu = {mtu} in [ipsec] and a smaller MTU for endpoints"
    return warning(subject, f"MTU {mtu} bytes, and the settings assume {wanted}", remedy)


async def largest(passes: Callable[[int], Awaitable[bool]]) -> int | None:
    """Return the largest size, in bytes, of an IP packet that passes; None if not even the smallest does."""
    if not await passes(_LEAST):
        return None
    low, high = _LEAST, _MOST + 1
    if await passes(WANTED):
        low = WANTED
    else:
        high = WANTED
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if await passes(middle) else (low, middle)
    return low


async def _passes(vtep: str, size: int) -> bool:
    argv = ("ping", "-n", "-q", "-c", "1", "-W", "1", "-M", "do", "-s", str(size - HEADERS), vtep)
    return (await command.run(*argv, seconds=_SECONDS)).code == 0
