"""Tasks that live and end together, in a loop that may be cancelled.

Not a TaskGroup: when one of its tasks fails in the moment in which it is cancelled from outside, Python 3.11's raises
the failure and loses the cancellation. A loop that tries again after a failure then never stops."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


async def task_group(*work: Coroutine[Any, Any, None]) -> None:
    """Return when all have returned. When one raises, or this call is cancelled, cancel and await the others. Raises
    CancelledError if this call was cancelled; otherwise the error of the first failed task in the order given. Other
    errors are logged."""
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
