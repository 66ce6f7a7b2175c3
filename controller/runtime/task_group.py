"""Tasks that live and end together, in a loop that may be cancelled.

Not a TaskGroup: when one of its tasks fails in the moment in which it is cancelled from outside, Python 3.11's raises
the failure, and the cancellation is lost. Whoever tries again after a failure then never stops."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


async def task_group(*work: Coroutine[Any, Any, None]) -> None:
    """Returns when all have returned. When one raises, or this is cancelled, the others are cancelled and awaited.
    Raises CancelledError if it was cancelled, whatever else has happened; else what was raised, of several the one of
    the first in the order given; the log has the others."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    errors = [end for end in ends if isinstance(end, Exception)]
    for other in errors[1:]:
        log.warning("failed in the same moment: %r", other)
    if errors:
        raise errors[0]
