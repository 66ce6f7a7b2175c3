"""Network namespaces for the agent's tests: created, entered, and always removed.

Names carry the test process's id, so that two runs do not meet, and a run removes the namespaces that an aborted run
left behind.
"""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lab.thread_netns import entered

PREFIX = "weft-agx-"
ETH_P_ALL = 0x0003
_RUN = Path("/run/netns")
T = TypeVar("T")


class Namespace:
    """One network namespace and the processes a test runs in it."""

    def __init__(self, name: str) -> None:
        self.name = f"{PREFIX}{os.getpid()}-{name}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def run(self, command: str, check: bool = True, stdin: str = "") -> str:
        """Run a command line to its end; return its output."""
        argv = ["ip", "netns", "exec", self.name, *command.split()]
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0 or not check, f"{self.name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def spawn(self, *argv: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a process; it is killed with the namespace."""
        with log.open("wb") as output:
            process = subprocess.Popen(["ip", "netns", "exec", self.name, *argv], stdout=output, stderr=output)
        self._processes.append(process)
        return process

    def end(self) -> None:
        """Kill the processes that were started here."""
        for process in self._processes:
            process.kill()
            process.wait()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Put this thread into the namespace for the block, with the sockets and processes that it makes meanwhile."""
        with entered(_RUN / self.name):
            yield

    def packets(self, device: str) -> socket.socket:
        """Return a raw socket on a device, to send frames and to see the frames that arrive."""
        with self.entered():
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_ALL))
        raw.bind((device, ETH_P_ALL))
        return raw

    def mac(self, device: str) -> bytes:
        """Return the device's Ethernet address."""
        found = re.search(r"link/ether (\S+)", self.run(f"ip link show {device}"))
        assert found
        return bytes.fromhex(found[1].replace(":", ""))


@contextmanager
def namespaces(*names: str) -> Iterator[list[Namespace]]:
    """Yield namespaces with `lo` up and IPv6 disabled, as the kernel's own IPv6 messages would disturb the tests."""
    _sweep()
    made = [Namespace(name) for name in names]
    try:
        for one in made:
            subprocess.run(["ip", "netns", "add", one.name], check=True)
            one.run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
            one.run("ip link set lo up")
        yield made
    finally:
        for one in made:
            one.end()
        _remove([one.name for one in made])


def cable(one: Namespace, device: str, other: Namespace, other_device: str) -> None:
    """Connect two namespaces by a veth pair, with both ends up."""
    one.run(f"ip link add {device} type veth peer name {other_device} netns {other.name}")
    one.run(f"ip link set {device} up")
    other.run(f"ip link set {other_device} up")


def speak(space: Namespace, *macs: str) -> None:
    """Send a frame from each of these MACs on eth0, as fast as the cable takes them."""
    with space.packets("eth0") as raw:
        raw.setblocking(True)
        for mac in macs:
            raw.send(b"\xff" * 6 + bytes.fromhex(mac.replace(":", "")) + b"\x88\xb5" + bytes(46))


def wait_for(what: str, look: Callable[[], T], seconds: float = 10) -> T:
    """Wait until `look` returns something, and return it; fail with `what` if it returns nothing in time."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.02)
    return seen


def _sweep() -> None:
    pattern = re.compile(rf"{PREFIX}(\d+)-")
    found = [(path.name, pattern.match(path.name)) for path in _RUN.glob(f"{PREFIX}*")]
    _remove([name for name, match in found if match and not Path(f"/proc/{match[1]}").exists()])


def _remove(names: list[str]) -> None:
    for name in names:
        if not (_RUN / name).exists():
            continue
        pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
        for pid in pids.split():
            if int(pid) != os.getpid():
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", name], check=False)
