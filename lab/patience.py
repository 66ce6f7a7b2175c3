"""Waits for conditions that take their time and have no event."""

import asyncio
import inspect
import time
from collections.abc import Callable

from lab.errors import LabError

What = str | Callable[[], object]
"""The condition that is waited for, or a function that returns the actual state instead."""


def until(done: Callable[[], object], what: What = "so", seconds: float = 30, pause: float = 0.05) -> float:
    """Wait until the condition holds, and return the seconds that it took. A LabError of `done` counts as not yet: the
    program that it asks is not there. Raises LabError if the condition does not hold in time."""
    began = time.monotonic()
    while not _so(done):
        _check(began, what, seconds)
        time.sleep(pause)
    return time.monotonic() - began


async def eventually(done: Callable[[], object], what: What = "so", seconds: float = 30, pause: float = 0.02) -> float:
    """Wait as `until` does, while other tasks go on. `done` may be a coroutine function."""
    began = time.monotonic()
    while True:
        found = _so(done)
        if await found if inspect.isawaitable(found) else found:
            return time.monotonic() - began
        _check(began, what, seconds)
        await asyncio.sleep(pause)


def _so(done: Callable[[], object]) -> object:
    try:
        return done()
    except LabError:
        return False


def _check(began: float, what: What, seconds: float) -> None:
    if time.monotonic() - began > seconds:
        raise LabError(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
