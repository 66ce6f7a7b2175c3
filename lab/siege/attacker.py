"""How a program of an attacker runs: until it is asked to stop, and then it prints what it counted."""

import asyncio
import contextlib
import json
import signal
from collections import Counter
from collections.abc import Coroutine
from typing import Any

Counts = Counter[str]


def attack(work: Coroutine[Any, Any, None], counts: Counts) -> None:
    """Run to SIGTERM and print the counts as JSON. An error of the attacker's own is counted as `defect`."""
    try:
        asyncio.run(until_told(work))
    except Exception as error:  # it is in the report, and the attack is no attack
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
