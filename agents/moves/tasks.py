"""The end of tasks that run code of drivers."""

import asyncio
import logging
from typing import Any

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds for a call of a driver to end once it is cancelled. A call that takes longer is left behind."""


async def end(task: "asyncio.Task[Any]") -> None:
    """Cancel the task. Return when it has ended, or when it does not end in time."""
    task.cancel()
    _, deaf = await asyncio.wait({task}, timeout=PATIENCE)
    if deaf:
        log.warning("%s does not end", task.get_name())
