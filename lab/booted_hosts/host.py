"""A host: a root in a folder, a network namespace, and systemd as the first process of both."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab import netns
from lab.errors import LabError
from lab.patience import until

_BEGIN = Path(__file__).parent / "begin"
_HIERARCHIES = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENT = (f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
_BOOT = 60.0  # seconds


class BootedHost:
    """A host called `name` with the root in `root`, in the network namespace `weft-NAME`, which the caller has made and
    removes. Its console is the file `console`."""

    def __init__(self, name: str, root: Path, console: Path) -> None:
        self.name, self.root, self.console = name, root, console
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0

    @property
    def pid(self) -> int:
        """The process id of its systemd on this machine; 0 while it is off."""
        return self._pid

    @property
    def _group(self) -> Path:
        hierarchy = next((one for one in _HIERARCHIES if (one / "cgroup.controllers").exists()), None)
        if hierarchy is None:
            raise LabError("this machine has no control groups of version 2", "systemd cannot run in a host of the lab")
        return hierarchy / f"{netns.PREFIX}{self.name}"

    def boot(self) -> None:
        """Start systemd, and wait until it has started what is to run. Raises LabError with the console's last
        lines."""
        self._group.mkdir(exist_ok=True)
        script = f'echo $$ >{self._group}/cgroup.procs; exec "$@"'
        spaces = ["nsenter", f"--net={netns.RUN / netns.PREFIX}{self.name}"]
        spaces += ["unshare", "--mount", "--uts", "--ipc", "--pid"]
        argv = [*spaces, "--cgroup", "--fork", "--kill-child", str(_BEGIN), str(self.root), self.name]
        with self.console.open("ab") as console:
            self._process = subprocess.Popen(
                ["sh", "-c", script, "-", *argv], stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                start_new_session=True,
            )  # fmt: skip
        until(self._begun, lambda: f"{self.name} begins to boot:\n{self._tail()}", _BOOT)
        until(self._settled, lambda: f"{self.name} has started its units:\n{self._tail()}", _BOOT)

    def run(self, script: str, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run a script of bash as root on the host. Raises LabError if it does not end in time."""
        argv = ["nsenter", "--target", str(self._pid), "--all", "env", "-i", *_ENVIRONMENT]
        argv += ["bash", "-euo", "pipefail", "-c", f"cd /root\n{script}"]
        try:
            return subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise LabError(f"{self.name}: a script did not end within {seconds:g} s:\n{script}") from None

    def off(self) -> None:
        """End every process of the host at once, as a power cut does."""
        if self._group.exists():
            (self._group / "cgroup.kill").write_text("1")
        if self._process is not None:
            self._process.wait()
        self._process, self._pid = None, 0
        until(self._removed, f"the control groups of {self.name} are empty")

    def _removed(self) -> bool:
        """Remove the control groups, which is possible once their processes are gone."""
        try:
            for folder in sorted((one for one in self._group.rglob("*") if one.is_dir()), reverse=True):
                folder.rmdir()
            if self._group.exists():
                self._group.rmdir()
        except OSError:
            return False
        return True

    def _begun(self) -> bool:
        """Find systemd's process, as this machine numbers it."""
        assert self._process is not None
        for pid in self._children(self._process.pid):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "systemd":
                self._pid = pid
        return self._pid != 0

    @staticmethod
    def _children(pid: int) -> Sequence[int]:
        with suppress(OSError):
            return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return []

    def _settled(self) -> bool:
        said = self.run("systemctl is-system-running || true", 30).stdout.strip()
        return said in ("running", "degraded")

    def _tail(self) -> str:
        return self.console.read_text(errors="replace")[-3000:]
