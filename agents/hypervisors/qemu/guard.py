"""The guard of a guest whose transfer is stuck on a path that is cut.

Some seconds after its connections' buffers are full, QEMU stops the whole guest and answers nobody. Then it takes only
out-of-band commands, on a monitor that was greeted before.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.paths import silence
from agents.hypervisors.qemu.monitor import Monitor
from agents.hypervisors.target import HostPort

CUT = 5.0
"""Seconds without an acknowledgement of sent data, by any path, after which the transfer is given up."""

_LOOK = 1.0


async def guard(rescue: Monitor, places: Sequence[HostPort]) -> None:
    """Watch the transfer until it ends. When the path is cut, give it up: the guest runs on, or waits for an abort."""
    with suppress(HypervisorError):
        async with rescue.session() as session:
            while await session.yankable():
                if await silence(places) > CUT:
                    await session.yank()
                    return
                await asyncio.sleep(_LOOK)
