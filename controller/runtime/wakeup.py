"""Wakes whoever waits for something to change, however many they are. Nothing is queued: a waiter that wakes looks for
itself at what there is."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Wakeup:
    """`ring` sets the event of everyone who listens, and calls `afar`, for those who listen to other replicas."""

    def __init__(self) -> None:
        self.afar: Callable[[], None] = lambda: None
        self._listeners: set[asyncio.Event] = set()

    def ring(self) -> None:
        """Wakes all listeners, wherever they are."""
        self.ring_here()
        self.afar()

    def ring_here(self) -> None:
        """Wakes all listeners of this process."""
        for listener in self._listeners:
            listener.set()

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """An event that is set by every ring until the block ends."""
        listener = asyncio.Event()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def __len__(self) -> int:
        return len(self._listeners)
