"""The linger time of the old address: it stays until the guest says that no connection uses it, with a time limit."""

import asyncio
from itertools import chain, repeat

from agents.hypervisors.hypervisor import HypervisorError
from agents.multipath.guest import Guest
from agents.multipath.segment import Address
from agents.multipath.sockets import bound, plain

_LOOKS = (0.5, 1.0, 2.0, 5.0)  # seconds between looks; the last one repeats, as each look is a process in the guest
_IDLE = 2  # looks in a row without a connection: one may have been about to begin at the first


async def linger(guest: Guest, old: tuple[Address, ...], new: tuple[Address, ...], seconds: float) -> int | None:
    """Wait until no connection has its only path at an old address, including connections without Multipath TCP, or
    until `seconds` are over. Return how many still have. None: the guest does not answer, which counts as if a
    connection were left."""
    loop = asyncio.get_running_loop()
    until, idle = loop.time() + seconds, 0
    for pause in chain(_LOOKS, repeat(_LOOKS[-1])):
        left = await _left(guest, old, new)
        idle = idle + 1 if left == 0 else 0
        rest = until - loop.time()
        if idle == _IDLE or rest <= 0:
            break
        await asyncio.sleep(min(pause, rest))
    return left


async def _left(guest: Guest, old: tuple[Address, ...], new: tuple[Address, ...]) -> int | None:
    try:
        found = await guest.sockets()
    except HypervisorError:
        return None
    return len(bound(found, old, new)) + plain(found, old)
