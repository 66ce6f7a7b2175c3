"""Processes that are no children of the agent; and a machine's QEMU as one, found again by its pid and its own command
line."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from agents.hypervisors.detached import detached
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.monitor import MonitorAway

_START = 30.0  # seconds
_END = 10.0


def find(folder: Path) -> int | None:
    """Return the pid of the QEMU that runs the machine of `folder`; None if none does. A pid that belongs to another
    process now is recognised by its command line, which does not name our folder."""
    path = folder / "pid"
    try:
        pid = int(path.read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if str(path).encode() in words else None


def said(folder: Path) -> str:
    """Return the last output of the QEMU of this folder, which may be empty. That QEMU may have ended since."""
    try:
        return (folder / "log").read_text(errors="replace").strip()[-600:]
    except OSError:
        return ""


async def spawn(folder: Path, argv: Sequence[str], greet: Callable[[], Awaitable[None]]) -> None:
    """Start QEMU in `folder`, and call `greet` as soon as its monitor is there. Raises HypervisorError, with QEMU's own
    text if it ended instead."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    monitor, log = folder / "monitor", folder / "log"
    monitor.unlink(missing_ok=True)
    try:
        async with detached(folder, argv, log) as its:
            await _greet(monitor, its, greet)
    except OSError as error:
        raise HypervisorError(f"{folder.name}: QEMU cannot be started: {error.strerror}") from error
    except EOFError:
        raise HypervisorError(f"{folder.name}: QEMU did not start: {said(folder)}") from None
    except TimeoutError:
        await end(folder)
        raise HypervisorError(f"{folder.name}: QEMU did not start within {_START:g} s") from None


async def _greet(monitor: Path, its: int, greet: Callable[[], Awaitable[None]]) -> None:
    """Call `greet` when the monitor is there. Raises EOFError if QEMU has ended before."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(its, ended.set)
    try:
        async with asyncio.timeout(_START):
            while True:
                if ended.is_set():
                    raise EOFError
                with suppress(MonitorAway):  # not yet, or not any more
                    if monitor.is_socket() and find(monitor.parent):
                        return await greet()
                await asyncio.sleep(0.01)
    finally:
        loop.remove_reader(its)


async def ended(folder: Path, seconds: float) -> bool:
    """Wait until QEMU has ended by itself. Return whether it has."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        if find(folder) is None:
            return True
        await asyncio.sleep(0.05)
    return False


async def end(folder: Path, number: int = signal.SIGKILL, seconds: float = _END) -> None:
    """End QEMU. It does not run when this returns. Raises HypervisorError if it cannot be ended."""
    deadline = asyncio.get_running_loop().time() + seconds
    while (pid := find(folder)) is not None:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                if find(folder) == pid:  # so the handle is of that process, and stays so
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)
        if asyncio.get_running_loop().time() > deadline:
            if number == signal.SIGKILL:
                raise HypervisorError(f"{folder.name}: QEMU (pid {pid}) cannot be ended")
            number, deadline = signal.SIGKILL, deadline + _END
        await asyncio.sleep(0.02)
