"""Wake-ups for any number of waiters. Nothing is queued: a waiter that wakes looks at the current state itself."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Wakeup:
    """`ring` sets the event of each listener in this process, and calls `afar` to wake the listeners of other
    replicas."""

    def __init__(self) -> None:
        self.afar: Callable[[], None] = lambda: None
        self._listeners: set[asyncio.Event] = set()

    def ring(self) -> None:
        """Wake all listeners, on all replicas."""
        self.ring_here()
        self.afar()

    def ring_here(self) -> None:
        """Wake all listeners of this process."""
        for listener in self._listeners:
            listener.set()

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """Yield an event that every ring sets, until the block ends."""
        listener = asyncio.Event()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def __len__(self) -> int:
        return len(self._listeners)
