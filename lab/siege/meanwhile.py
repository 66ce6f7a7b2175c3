"""Work in a thread of its own during the rest of a phase."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` from entry to exit. `work` gets an event and returns soon after it is set; exit sets it and waits for
    that."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=[over], daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
