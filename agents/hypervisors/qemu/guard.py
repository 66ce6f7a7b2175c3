"""Looks after a guest whose transfer hangs on a path that is cut.

QEMU stops the whole guest some seconds after its connections have taken all that they can hold, and answers nobody:
then only a command out of band gets through, on a monitor that had been greeted before.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.monitor import Monitor
from agents.hypervisors.qemu.paths import silence
from agents.hypervisors.qemu.target import HostPort

CUT = 5.0
"""Seconds without an acknowledgement of what was sent, by any path, after which the transfer is given up."""

_LOOK = 1.0


async def guard(rescue: Monitor, places: Sequence[HostPort]) -> None:
    """Ends with the transfer. Gives it up when the path is cut: the guest runs on, or waits for an abort."""
    with suppress(HypervisorError):
        async with rescue.session() as session:
            while await session.yankable():
                if await silence(places) > CUT:
                    await session.yank()
                    return
                await asyncio.sleep(_LOOK)
