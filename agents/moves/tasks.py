"""Ending what somebody else's code is busy with."""

import asyncio
import logging
from typing import Any

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds for a call of a driver to end once it is cancelled; a deaf one is left behind."""


async def end(task: "asyncio.Task[Any]") -> None:
    """Returns when it has ended, or does not listen."""
    task.cancel()
    _, deaf = await asyncio.wait({task}, timeout=PATIENCE)
    if deaf:
        log.warning("%s does not end", task.get_name())
