"""Runs the program of an attacker until it is asked to stop, and then prints its counts."""

import asyncio
import contextlib
import json
import signal
from collections import Counter
from collections.abc import Coroutine
from typing import Any

Counts = Counter[str]


def attack(work: Coroutine[Any, Any, None], counts: Counts) -> None:
    """Run until SIGTERM, and print the counts as JSON. An error of the attacker's own is counted as `defect`."""
    try:
        asyncio.run(until_told(work))
    except Exception as error:  # the report shows it, and the attack does not count
        first: BaseException = error
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        counts[f"defect: {first!r}"] += 1
    print(json.dumps(dict(counts)))


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until SIGTERM."""
    working = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await working
