"""A container's sandbox: the first process of a PID namespace, with the network namespace of the container and the
mount namespace of its root file system. It outlives the agent, whose own mount namespace may be another one after each
restart; and when it ends, all that runs in it ends.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agents import command
from agents.answer import printable
from agents.hypervisors.detached import detached
from agents.hypervisors.hypervisor import HypervisorError

_FILE = "sandbox"
_LOG = "sandbox.log"
_START = 10.0  # seconds
_END = 10.0
_POLL = 0.01
_KEEP = """set -e
read -r pid rest </proc/self/stat
mount -t proc proc /proc
if ! grep -q ' - cgroup' /proc/self/mountinfo; then
  if grep -q '^[1-9]' /proc/self/cgroup; then
    mount -t tmpfs cgroup /sys/fs/cgroup
    sed -n 's/^[1-9][0-9]*:\\([^:]*\\):.*/\\1/p' /proc/self/cgroup | while read -r controllers; do
      mkdir "/sys/fs/cgroup/$controllers"
      mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers"
    done
  else
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
  fi
fi
ip link set lo up
if [ -e /proc/sys/net/mptcp/enabled ]; then
  echo 0 >/proc/sys/net/mptcp/enabled
fi
echo "$pid" >"$0.new"
mv "$0.new" "$0"
while :; do
  sleep 1000000 &
  wait $!
done
"""
"""As the first process of its namespace it waits for those whose parents have ended. runc needs control groups, which
`ip netns exec` takes away with /sys. There is no Multipath TCP before the container's first program could use it: CRIU
restores no such sockets."""


class Sandbox:
    """The sandbox of the container of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / _FILE

    def pid(self) -> int | None:
        """Return the pid of the process; None if there is none. A pid that belongs to another process now is recognised
        by its command line, which does not name our file."""
        try:
            pid = int(self._file.read_text())
        except (OSError, ValueError):
            return None
        return pid if self._ours(pid) else None

    def _ours(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return str(self._file).encode() in words

    async def open(self) -> None:
        """Start the process, unless it runs. Raises HypervisorError."""
        if self.pid() is not None:
            return
        self._file.unlink(missing_ok=True)
        spaces = ["--net", "--mount", "--propagation", "slave", "--pid", "--fork"]
        argv = ["unshare", *spaces, "sh", "-c", _KEEP, str(self._file)]
        try:
            async with detached(self._folder, argv, self._folder / _LOG) as its:
                await self._begun(its)
        except OSError as error:
            raise HypervisorError(f"{self._folder.name}: no sandbox can be made: {error.strerror}") from error

    async def _begun(self, its: int) -> None:
        os.set_blocking(its, False)
        deadline = asyncio.get_running_loop().time() + _START
        while self.pid() is None:
            with suppress(BlockingIOError):
                os.read(its, 1)
                said = printable((self._folder / _LOG).read_text(errors="replace").strip(), 400)
                raise HypervisorError(f"{self._folder.name}: no sandbox can be made: {said}")
            if asyncio.get_running_loop().time() > deadline:
                raise HypervisorError(f"{self._folder.name}: its sandbox was not there within {_START:g} s")
            await asyncio.sleep(_POLL)

    def inside(self, *argv: str) -> list[str]:
        """Return the words that run a program in the sandbox. Raises HypervisorError if there is none."""
        pid = self.pid()
        if pid is None:
            raise HypervisorError(f"{self._folder.name}: its sandbox has ended")
        spaces = ["--net", "--mount", "--pid", "--root", f"--wdns={self._folder}"]
        return ["nsenter", f"--target={pid}", *spaces, "--", *argv]

    async def run(self, *argv: str, stdin: str = "", seconds: float = 30.0) -> str:
        """Run a program in the sandbox, and return its output. Raises HypervisorError if it fails."""
        return await finished(self.inside(*argv), argv[0], self._folder.name, stdin, seconds)

    async def close(self) -> None:
        """End the process, and all others of the sandbox. Raises HypervisorError."""
        deadline = asyncio.get_running_loop().time() + _END
        first = self.pid()
        parent = _parent(first) if first is not None else 0  # it has made the namespaces, and ends last
        while (pid := self.pid()) is not None or self._ours(parent):
            if pid is not None:
                self._kill(pid)
            if asyncio.get_running_loop().time() > deadline:
                raise HypervisorError(f"{self._folder.name}: its sandbox (pid {pid or parent}) cannot be ended")
            await asyncio.sleep(_POLL)

    def _kill(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                if self.pid() == pid:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def _parent(pid: int) -> int:
    """Return the parent of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


async def finished(argv: Sequence[str], program: str, name: str, stdin: str = "", seconds: float = 30.0) -> str:
    """Run a program for the machine `name`, and return its output. Raises HypervisorError, with the program's words, if
    it fails."""
    try:
        ended = await command.run(*argv, stdin=stdin, seconds=seconds)
    except TimeoutError:
        raise HypervisorError(f"{name}: {program} took more than {seconds:g} s") from None
    except OSError as error:
        raise HypervisorError(f"{name}: {argv[0]} cannot be run: {error.strerror or error}") from error
    if ended.code:
        said = printable(ended.complaint.strip() or ended.out.strip(), 400)
        raise HypervisorError(f"{name}: {program} failed (exit code {ended.code}): {said}")
    return ended.out
