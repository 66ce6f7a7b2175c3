"""Two hosts of a driver of QEMU's machines: a network namespace each, one or two links between them, a LAN bridge on
each.

Each host's driver lives in its own thread, which has entered the namespace and has its own event loop. So every process
that it starts and every socket that it makes is in that namespace, as with an agent.
"""

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from agents.hypervisors.hypervisor import Attachment, Hypervisor, Site
from agents.hypervisors.qemu import driver as qemu
from agents.hypervisors.weft_transfer import DISK_SOCKET, SOCKET, WeftTransfer
from lab.relay import Relay
from lab.thread_netns import enter

T = TypeVar("T")
BRIDGE = "lan1"


class Host:
    """A namespace and the driver in it. Its methods can be called from any thread."""

    def __init__(self, site: Site, driver: Callable[[Site], Hypervisor]) -> None:
        self.name, self.state = site.cloudlet, site.state_dir
        self._ready = threading.Event()
        self.driver: Hypervisor = driver(site)
        self.attachment = Attachment(BRIDGE, 1400)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        self._ready.wait(5)

    def _live(self) -> None:
        enter(Path("/run/netns", self.name))
        asyncio.set_event_loop(self._loop)
        self._ready.set()
        self._loop.run_forever()

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def do(self, coroutine: Coroutine[Any, Any, T], seconds: float = 120) -> T:
        """Run the coroutine, and return its result or raise its error."""
        future = self.begin(coroutine)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise

    def pid(self, machine: str) -> int:
        return int((self.state / machine / "pid").read_text())

    def close(self) -> None:
        with suppress(TimeoutError):
            self.begin(_cancel()).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


async def _cancel() -> None:
    """Cancel all other tasks of this loop, as when an agent ends."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def last(iterator: AsyncIterator[T]) -> T:
    """Return the last value that the iterator yields."""
    found = None
    async for found in iterator:  # noqa: B007
        pass
    assert found is not None
    return found


class Hosts:
    """`one` and `two`, with a link of `rates` (Mbit/s) for each path between them, and a round trip of `rtt_ms`.
    `close` removes everything. `identities` has the folders `c1` and `c2` with the hosts' certificates, if they have
    any. The links lose `loss` per cent of the packets. With `lan`, an address and its prefix, the two LAN bridges are
    one, without delay, and `one` has that address there."""

    driver: Callable[[Site], Hypervisor] = staticmethod(qemu)

    def __init__(
        self,
        folder: Path,
        images: Path,
        rates: Sequence[int] = (350,),
        options: Mapping[str, str] | None = None,
        rtt_ms: float = 0.0,
        identities: Path | None = None,
        loss: float = 0.0,
        lan: str = "",
    ) -> None:
        self._identities = identities
        self._names = [f"weft-qm-{os.getpid()}-{number}" for number in (1, 2)]
        self._folder, self._images, self._options = folder, images, options or {}
        self._paths = [[f"10.77.{link}.{number}" for link in range(len(rates))] for number in (1, 2)]
        self._hosts: list[Host] = []
        self._relay: Relay | None = None
        try:
            for name in self._names:
                _ip(f"netns add {name}")
                _ip(f"-n {name} link set lo up")
                _ip(f"-n {name} link add {BRIDGE} type bridge forward_delay 0")
                _ip(f"-n {name} link set {BRIDGE} up")
            if lan:
                self._join(lan)
            if rtt_ms or loss:
                self._relay = Relay(f"{self._names[0]}-wan", rtt_ms, loss)
            for link, rate in enumerate(rates):
                self._link(link, rate)
            if self._relay is not None:
                self._relay.start()
            self._hosts = [self._host(number) for number in (0, 1)]
        except BaseException:
            self.close()
            raise

    def _join(self, lan: str) -> None:
        one, two = self._names
        _ip(f"-n {one} link add lan type veth peer name lan netns {two}")
        for name in self._names:
            _ip(f"-n {name} link set lan master {BRIDGE} up")
        _ip(f"-n {one} addr add {lan} dev {BRIDGE}")

    def _link(self, link: int, rate: int) -> None:
        device = f"wan{link}"
        if self._relay is None:
            self._cable(device, rate)
        else:
            one, two = self._names
            self._relay.lay(one, device, two, device, rate)
        for name, paths in zip(self._names, self._paths, strict=True):
            _ip(f"-n {name} addr add {paths[link]}/24 dev {device}")

    def _cable(self, device: str, rate: int) -> None:
        one, two = self._names
        _ip(f"-n {one} link add {device} type veth peer name {device} netns {two}")
        for name in self._names:
            shape = f"tbf rate {rate}mbit burst 256k latency 50ms"
            _run(f"ip netns exec {name} tc qdisc add dev {device} root {shape}")
            _ip(f"-n {name} link set {device} up")

    def _host(self, number: int) -> Host:
        paths, options = self._paths[number], {"accelerator": "tcg", **self._options, **self.options(number)}
        state = self._folder / str(number + 1)
        site = Site(self._names[number], state, self._images, paths[0], tuple(paths), options, self._identity(number))
        return Host(site, self.driver)

    def _identity(self, number: int) -> Path | None:
        return self._identities / f"c{number + 1}" if self._identities is not None else None

    def options(self, number: int) -> Mapping[str, str]:
        """Return the driver's options for that host alone."""
        return {}

    @property
    def one(self) -> Host:
        return self._hosts[0]

    @property
    def two(self) -> Host:
        return self._hosts[1]

    def restart(self, number: int) -> None:
        """Replace the driver at that host, as a restart of the agent does."""
        self._hosts[number].close()
        self._hosts[number] = self._host(number)

    def cut(self, link: int = 0) -> None:
        """Cut a link: nothing comes through any more."""
        _ip(f"-n {self._names[0]} link set wan{link} down")

    def mend(self, link: int = 0) -> None:
        _ip(f"-n {self._names[0]} link set wan{link} up")

    def sent(self, link: int) -> int:
        """Return the bytes from `one` over a link."""
        return self._counter(self._names[0], f"wan{link}", "tx")

    def received(self, number: int) -> int:
        """Return the packets that the bridge of a host has received."""
        return self._counter(self._names[number], BRIDGE, "rx", "packets")

    def _counter(self, name: str, device: str, way: str, what: str = "bytes") -> int:
        found = json.loads(_ip(f"-n {name} -j -s link show {device}"))
        return int(found[0]["stats64"][way][what])

    def endpoints(self, number: int) -> str:
        """Return the MPTCP endpoints of a host."""
        return _ip(f"-n {self._names[number]} mptcp endpoint show")

    def logs(self) -> Iterable[Path]:
        """Return QEMU's log of each machine, in whatever state the machine is."""
        return self._folder.glob("*/*/log")

    def close(self) -> None:
        for host in self._hosts:
            host.close()
        for log in self.logs():
            if said := log.read_text(errors="replace"):
                print(f"{log}:\n{said}", end="", flush=True)
        for path in self._folder.glob("*/*/pid"):
            kill(path)
        for socket in (SOCKET, DISK_SOCKET):
            for path in self._folder.glob(f"*/*/{socket}.pid"):
                asyncio.run(WeftTransfer(path.parent, socket).end())
        if self._relay is not None:
            self._relay.close()
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def kill(path: Path) -> None:
    """Send SIGKILL to the QEMU whose pid file this is."""
    with suppress(OSError, ValueError):
        pid = int(path.read_text())
        if str(path).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            while Path(f"/proc/{pid}/cmdline").read_bytes():
                time.sleep(0.01)


def _ip(words: str) -> str:
    return _run(f"ip {words}")


def _run(command: str) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout
