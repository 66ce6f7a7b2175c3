"""Removes a lab, whatever state it is in and whoever died: processes, namespaces, sockets, records.

What is removed is what the record names and what carries the lab's mark; nothing else, whatever it is called.
"""

import contextlib
import os
import shutil
import signal
import time

from lab import netns
from lab.errors import LabError
from lab.lock import Progress
from lab.paths import ENV, LAB, RUN, STATE
from lab.process import Process, stop
from lab.state import LabState, runs, start_time
from lab.underlay import parallel


def remove(progress: Progress) -> None:
    """The lock must be held. Raises LabError if something will not go."""
    try:
        state = LabState.read()
    except LabError:
        state = None  # the marks are enough
    namespaces = set(netns.marked())
    if state:
        namespaces |= {name for name in state.namespaces if (netns.RUN / name).exists()}
        # The agents go first, so that none of them mends what is being taken down.
        agents = [name for name in state.processes if name.endswith("-agent")]
        for names in (agents, list(state.processes)):
            stop([Process(name, state) for name in names], 3)
    if namespaces:
        progress(f"removing {len(namespaces)} namespaces")
    _empty(namespaces)
    parallel(lambda name: netns.remove([name]), sorted(namespaces))
    if left := sorted(name for name in namespaces if (netns.RUN / name).exists()):
        raise LabError(f"these namespaces could not be removed: {', '.join(left)}")
    shutil.rmtree(RUN, ignore_errors=True)
    ENV.unlink(missing_ok=True)
    _keep_logs()
    LabState.forget()


def _keep_logs() -> None:
    """Of build/lab the logs stay; tokens, credentials, databases and captures of a lab that is gone do not."""
    for path in sorted(LAB.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # not empty: it holds a log
                path.rmdir()
        elif path.suffix != ".log" and path != STATE:
            path.unlink(missing_ok=True)


def _empty(namespaces: set[str]) -> None:
    """Kills what still lives in the namespaces: clients, captures, what was started and not recorded."""
    deadline = time.monotonic() + 5
    dying: dict[int, int] = {}
    # A process on its way out has left its namespace some time before it is gone: those are waited for as well.
    while pids := inhabitants(namespaces) | {pid for pid, start in dying.items() if runs(pid, start)}:
        if time.monotonic() > deadline:
            raise LabError(f"processes {', '.join(map(str, sorted(pids)))} in the lab's namespaces cannot be killed")
        for pid in pids - set(dying):
            dying[pid] = start_time(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def inhabitants(namespaces: set[str]) -> set[int]:
    """Processes in any of the namespaces, found in one pass over /proc (by the namespace's inode)."""
    inodes = set()
    for name in namespaces:
        with contextlib.suppress(OSError):
            found = (netns.RUN / name).stat()
            inodes.add((found.st_dev, found.st_ino))
    pids = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found = os.stat(f"/proc/{entry.name}/ns/net")  # noqa: PTH116 - one of thousands
                if (found.st_dev, found.st_ino) in inodes and int(entry.name) != os.getpid():
                    pids.add(int(entry.name))
    return pids
