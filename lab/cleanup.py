"""Removes a lab from any state, whichever of its processes have died: processes, namespaces, sockets, records.

It removes only what the record names and what carries the lab's mark, whatever the name.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import time

from agents.hypervisors.container.container import Container
from agents.hypervisors.hypervisor import HypervisorError
from lab import netns
from lab.errors import LabError
from lab.lock import Progress
from lab.paths import ENV, LAB, RUN, STATE
from lab.process import Process, stop
from lab.state import LabState, runs, start_time
from lab.underlay import parallel


def remove(progress: Progress) -> None:
    """Remove the lab. The caller must hold the lock. Raises LabError if something cannot be removed."""
    try:
        state = LabState.read()
    except LabError:
        state = None  # the marks are enough
    namespaces = set(netns.marked())
    if state:
        namespaces |= {name for name in state.namespaces if (netns.RUN / name).exists()}
        # The agents end first, so that none of them restores what is being removed.
        agents = [name for name in state.processes if name.endswith("-agent")]
        for names in (agents, list(state.processes)):
            stop([Process(name, state) for name in names], 3)
    _end_containers()
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


def _end_containers() -> None:
    """End the containers of agents that are gone: they live in namespaces of their own."""
    for path in LAB.glob("*/state/hypervisors/container/*/machine.json"):
        try:
            asyncio.run(Container(path.parent).remove())
        except HypervisorError as error:
            raise LabError(str(error)) from error


def _keep_logs() -> None:
    """Remove from build/lab the tokens, credentials, databases and captures of a lab that is gone. Logs stay."""
    for path in sorted(LAB.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # not empty: it holds a log
                path.rmdir()
        elif path.suffix != ".log" and path != STATE:
            path.unlink(missing_ok=True)


def _empty(namespaces: set[str]) -> None:
    """Kill the processes that still live in the namespaces: clients, captures, and others that were not recorded."""
    deadline = time.monotonic() + 5
    dying: dict[int, int] = {}
    # A process that ends leaves its namespace some time before it is gone, so this waits for such processes too.
    while pids := inhabitants(namespaces) | {pid for pid, start in dying.items() if runs(pid, start)}:
        if time.monotonic() > deadline:
            raise LabError(f"processes {', '.join(map(str, sorted(pids)))} in the lab's namespaces cannot be killed")
        for pid in pids - set(dying):
            dying[pid] = start_time(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def inhabitants(namespaces: set[str]) -> set[int]:
    """Return the processes in any of the namespaces, found in one pass over /proc (by the namespace's inode)."""
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
