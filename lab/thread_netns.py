"""The network namespace of a thread: sockets and processes that the thread makes are in it."""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_CLONE_NEWNET = 0x40000000
_OWN = Path("/proc/thread-self/ns/net")
_T = TypeVar("_T")


def enter(namespace: Path) -> None:
    """Put this thread into a namespace (`/run/netns/NAME`, `/proc/PID/ns/net`). Raises OSError."""
    with namespace.open() as file:
        _set(file.fileno())


@contextmanager
def entered(namespace: Path) -> Iterator[None]:
    """Put this thread into a namespace for the block. Raises OSError."""
    with _back():
        enter(namespace)
        yield


@contextmanager
def alone() -> Iterator[None]:
    """Put this thread into a new namespace for the block; it ends with what is in it. Raises OSError."""
    with _back():
        _checked(_libc().unshare(_CLONE_NEWNET), "unshare")
        yield


def within(namespace: Path, work: Callable[[], _T]) -> _T:
    """Return the result of work that a thread of its own does in a namespace, and raise its OSError. The threads of
    this process stay where they are."""
    done: list[_T] = []
    wrong: list[OSError] = []

    def run() -> None:
        try:
            enter(namespace)
            done.append(work())
        except OSError as error:
            wrong.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if wrong:
        raise wrong[0]
    return done[0]


@contextmanager
def _back() -> Iterator[None]:
    with _OWN.open() as home:
        try:
            yield
        finally:
            _set(home.fileno())


def _set(descriptor: int) -> None:
    _checked(_libc().setns(descriptor, _CLONE_NEWNET), "setns")


def _checked(code: int, call: str) -> None:
    if code:
        raise OSError(ctypes.get_errno(), f"{call}: {os.strerror(ctypes.get_errno())}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
