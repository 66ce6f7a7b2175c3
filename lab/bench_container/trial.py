"""The moves of one cell: a service, a line, and a way."""

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from controller.wire.machines import Machine
from controller.wire.moves import Tuning
from lab import netns
from lab.bench_container.cases import RTT, SERVICES, Way
from lab.bench_container.others import Podman, Taken, whole
from lab.container_hosts import ContainerHosts, container_at, lease
from lab.errors import LabError
from lab.hosts import Hosts, last

NAME = "bench"
_LAN, _ADDRESS = "10.78.0.1/24", "10.78.0.2"
_READY = 60.0  # seconds
_ASK = 5202  # the port of the service in Python


@dataclass(frozen=True)
class Moved:
    """One move. `seconds` are from the order until the container runs there, `frozen` those for which it did not run,
    `wire` the bytes on the line."""

    service: str
    rate: int
    way: Way
    seconds: float
    frozen: float
    wire: int


@contextmanager
def hosts(folder: Path, images: Path, rate: int) -> Iterator[Hosts]:
    """Yield two hosts with a line of that rate."""
    both = ContainerHosts(folder, images, (rate,), {}, RTT, lan=_LAN)
    try:
        yield both
    finally:
        both.close()


def trial(images: Path, service: str, rate: int, way: Way) -> Moved:
    """Make one move, and return what it took. A container in Python proves that its memory and files are as before."""
    described = SERVICES[service]
    with TemporaryDirectory(prefix="weft-bench-") as folder, hosts(Path(folder) / "h", images, rate) as both:
        if way == "podman":
            podman = Podman(both, images, Path(folder) / "podman")
            try:
                podman.start(described.image, shlex.split(described.command))
                time.sleep(3)
                taken = podman.move()
            finally:
                podman.close()
        else:
            taken = _driven(both, service, way)
    return Moved(service, rate, way, taken.seconds, taken.frozen, taken.wire)


def _driven(both: Hosts, service: str, way: Way) -> Taken:
    described, one = SERVICES[service], both.one
    macs = ("02:00:00:79:00:0a", "02:00:00:79:00:0b")
    machine = Machine(
        name=NAME,
        driver="container",
        image=described.image,
        memory=described.mib << 20,
        vcpus=2,
        macs=macs,
        options={"command": described.command},
    )
    one.do(one.driver.start(machine, one.attachment, "a"))
    lease(one, NAME, f"{_ADDRESS}/24")
    before = _digest(both, service)
    time.sleep(3)  # a file that has just been written goes again
    taken = whole(both, machine) if way == "whole" else _weft(both, machine)
    if way == "weft" and before != (after := _digest(both, service)):
        raise LabError(f"its memory or its files have changed: {before} is {after} now")
    if both.two.do(container_at(both.two, NAME).runtime.status()) != "running":
        raise LabError("the container does not run there")
    return taken


def _weft(both: Hosts, machine: Machine) -> Taken:
    one, two, tuning = both.one, both.two, Tuning()
    began, before = time.monotonic(), both.sent(0)
    target = two.do(two.driver.prepare(machine, two.attachment, "a", "w1", tuning))
    one.do(last(one.driver.memory(NAME, "w1", target, tuning)), 1200)
    frozen = time.monotonic()
    one.do(one.driver.switchover(NAME, "w1"))
    two.do(two.driver.activate(NAME, "w1"))
    ended, wire = time.monotonic(), both.sent(0) - before
    two.do(two.driver.announce(NAME))
    return Taken(ended - began, ended - frozen, wire)


def _digest(both: Hosts, service: str) -> str:
    """Return the digest that the service tells of its memory and its file; "" of another one."""
    if service != "python":
        return ""
    deadline = time.monotonic() + _READY
    while True:
        done = netns.execute(both.one.name, ["busybox", "nc", "-w", "10", _ADDRESS, str(_ASK)], stdin="?\n", timeout=20)
        if found := done.stdout.strip():
            return found
        if time.monotonic() > deadline:
            raise LabError(f"the service does not answer: {done.stderr.strip()}")
        time.sleep(0.5)
