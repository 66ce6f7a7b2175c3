"""Keeps to one lab at a time: namespaces and addresses are the machine's, so a process that builds or removes a lab
holds this lock."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from lab.errors import LabError
from lab.paths import LOCK

Progress = Callable[[str], None]


class LabLock:
    """An advisory lock on a file that exists only while a process holds it or waits for it.

    The kernel releases it when the holder dies, however that happens. Not shared between threads.
    """

    def __init__(self, path: Path = LOCK) -> None:
        self.path = path
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        return self._fd is not None

    def acquire(self, wait_seconds: float = 0, progress: Progress = lambda _: None) -> None:
        """Acquire the lock. Raises LabError naming the holder when the lock is not free within `wait_seconds`."""
        deadline = time.monotonic() + wait_seconds
        told = False
        while not self._try():
            holder = self._holder()
            if time.monotonic() >= deadline:
                raise LabError(f"another lab is being built or removed{holder}", "wait until it is done")
            if not told:
                progress(f"waiting for the lab{holder}")
                told = True
            time.sleep(0.2)

    def release(self) -> None:
        if self._fd is not None:
            self.path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> "LabLock":
        if not self.held:
            self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try(self) -> bool:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may have been removed by its holder between open and flock: then this lock guards nothing.
            if self.path.stat().st_ino == os.fstat(fd).st_ino:
                os.ftruncate(fd, 0)
                os.write(fd, f"{os.getpid()}\n".encode())
                self._fd, fd = fd, -1
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        finally:
            if fd >= 0:
                os.close(fd)
        return False

    def _holder(self) -> str:
        try:
            pid = self.path.read_text().strip()
        except OSError:
            return ""
        return f" (held by process {pid})" if pid else ""
