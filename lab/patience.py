"""Waiting for what takes its time, and has no event that tells when it is so."""

import asyncio
import inspect
import time
from collections.abc import Callable

from lab.errors import LabError

What = str | Callable[[], object]
"""What is waited for; or a function that gives what there is instead."""


def until(done: Callable[[], object], what: What = "so", seconds: float = 30, pause: float = 0.05) -> float:
    """Looks until it is so; returns after how many seconds. A LabError of `done` means not yet: whoever is asked is not
    there. Raises LabError if it is not so in time."""
    began = time.monotonic()
    while not _so(done):
        _check(began, what, seconds)
        time.sleep(pause)
    return time.monotonic() - began


async def eventually(done: Callable[[], object], what: What = "so", seconds: float = 30, pause: float = 0.02) -> float:
    """As `until`, and lets others work meanwhile; `done` may be a coroutine function."""
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
