"""A libvirtd in a network namespace, without systemd, networks or storage pools. Its paths are compiled in, so it gets
its own mount namespace, in which those paths are below a short directory of ours."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from agents.hypervisors.libvirt import driver
from lab.hosts import Hosts
from lab.paths import BUILD

_PLACES = {"run": "/run/libvirt", "lib": "/var/lib/libvirt", "log": "/var/log/libvirt", "etc": "/etc/libvirt"}
_CACHE = "/var/cache/libvirt"  # the capabilities of QEMU, probed once for all
_QEMU = """\
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
"""
_ACCOUNT = {  # compiled in as well, and looked up even if it is not used
    "passwd": "libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin\n",
    "group": "libvirt-qemu:x:64055:\nkvm:x:64056:\n",
}
_START = 60.0  # seconds, the first time with the probing of QEMU


class Libvirtd:
    """The libvirtd of one host. `enter` runs a program in its network namespace, ours if it is empty."""

    def __init__(self, enter: Sequence[str] = ()) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="weft-lv-"))  # a socket's address is short (unix(7))
        self._enter = enter
        self._process: subprocess.Popen[bytes] | None = None
        for name in _PLACES:
            (self._folder / name).mkdir()
        (self._folder / "etc" / "qemu.conf").write_text(_QEMU)
        for name, line in _ACCOUNT.items():
            (self._folder / name).write_text(Path("/etc", name).read_text() + line)
        settings = f'auth_unix_rw = "none"\nunix_sock_rw_perms = "0700"\nhost_uuid = "{uuid4()}"\n'
        (self._folder / "etc" / "libvirtd.conf").write_text(settings)
        self.start()

    @property
    def uri(self) -> str:
        return f"qemu:///system?socket={self._socket}"

    @property
    def _socket(self) -> Path:
        return self._folder / "run" / "libvirt-sock"

    def start(self) -> None:
        """Start libvirtd, also again after `kill`: it finds its machines. Raises AssertionError with libvirtd's own
        words."""
        cache = BUILD / "libvirt"
        cache.mkdir(parents=True, exist_ok=True)
        binds = {str(self._folder / name): place for name, place in _PLACES.items()} | {str(cache.resolve()): _CACHE}
        script = ["set -e", "umount -l /sys", "mount -t sysfs sysfs /sys"]
        script += [f"mkdir -p {place}; mount --bind {ours} {place}" for ours, place in binds.items()]
        script += [f"mount --bind {self._folder / name} /etc/{name}" for name in _ACCOUNT]
        script += [f"exec libvirtd -f /etc/libvirt/libvirtd.conf -p {self._folder}/pid"]
        self._socket.unlink(missing_ok=True)
        log = self._folder / "said"
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [*self._enter, "unshare", "-m", "sh", "-c", "\n".join(script)],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + _START
        while not self._listens():
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "libvirtd does not listen"
            time.sleep(0.05)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.connect(str(self._socket))
            return True
        return False

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Kill libvirtd. Its machines run on."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(20)
            self._process = None

    def logs(self) -> Iterable[Path]:
        """Return a file for each machine: QEMU's output, and why QEMU ended."""
        return (self._folder / "log" / "qemu").glob("*.log")

    def close(self) -> None:
        """End libvirtd and remove its files. The caller has to end its machines."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class LibvirtHosts(Hosts):
    """Two hosts of the libvirt driver, a libvirtd each."""

    driver = staticmethod(driver)

    def __init__(
        self, folder: Path, images: Path, rates: Sequence[int] = (350,), options: Mapping[str, str] | None = None
    ) -> None:
        self.daemons: dict[int, Libvirtd] = {}
        super().__init__(folder, images, rates, options)

    def options(self, number: int) -> Mapping[str, str]:
        if number not in self.daemons:
            self.daemons[number] = Libvirtd(("ip", "netns", "exec", self._names[number]))
        return {"uri": self.daemons[number].uri}

    def logs(self) -> Iterable[Path]:
        return (log for daemon in self.daemons.values() for log in daemon.logs())

    def close(self) -> None:
        super().close()
        for daemon in self.daemons.values():
            daemon.close()
