"""Moves by one way, to and fro. Each is compared before the machine runs at the destination."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from agents.hypervisors.hypervisor import HypervisorError
from lab.errors import LabError
from lab.hosts import Host, Hosts, last
from lab.verify_memory import guest
from lab.verify_memory.blocks import blocks, differing
from lab.verify_memory.ways import Way

_ALL_HERE = 120.0  # seconds for the pages that post-copy still has to bring


@dataclass(frozen=True)
class Compared:
    """One move. `wrong` are the pages that differ from the source's, of `pages` in all; `ails` is what is wrong with
    the guest afterwards. `hold` is the seconds between memory and switchover, for which the source was kept ready."""

    way: str
    pages: int
    wrong: list[str]
    ails: str
    seconds: float
    paused_ms: float
    rounds: int
    hold: float


@contextmanager
def hosts(way: Way, images: Path) -> Iterator[Hosts]:
    """Make two hosts of the way's driver."""
    from lab.libvirtd import LibvirtHosts  # only where there is a libvirt

    kind: type[Hosts] = LibvirtHosts if way.driver == "libvirt" else Hosts
    with TemporaryDirectory(prefix="weft-vm-") as folder:
        both = kind(Path(folder), images, options=way.options)
        try:
            yield both
        finally:
            both.close()


def trial(way: Way, images: Path, moves: int, hold: float, told: Callable[[Compared], bool]) -> None:
    """Make `moves` moves. `told` gets each, and returns whether to go on. A guest that fails is started again."""
    left = moves
    while left:
        with hosts(way, images) as both:
            here, there = both.one, both.two
            machine = guest.machine(way.driver, way.vcpus)
            here.do(here.driver.start(machine, here.attachment, "a"))
            guest.busy(here, way.vcpus)
            while left:
                found = move(here, there, way, f"m{left}", hold)
                left -= 1
                if not told(found):
                    return
                if found.wrong or found.ails:
                    break
                here, there = there, here


def move(here: Host, there: Host, way: Way, name: str, hold: float) -> Compared:
    """Make one move. Raises HypervisorError if it cannot be made."""
    began, machine, tuning = time.monotonic(), guest.machine(way.driver, way.vcpus), way.tuning
    target = there.do(there.driver.prepare(machine, there.attachment, "a", name, tuning))
    here.do(last(here.driver.memory(machine.name, name, target, tuning)), 300)
    time.sleep(hold)
    figures = here.do(here.driver.switchover(machine.name, name))
    if tuning.post_copy:
        _wait(here)
    pages, wrong = _compare(here, there)
    there.do(there.driver.activate(machine.name, name))
    ails = guest.ails(there)
    here.do(here.driver.discard(machine.name))
    seconds = time.monotonic() - began
    return Compared(
        way.name, pages, wrong, ails, round(seconds, 1), round(figures.paused_ms or 0.0), figures.rounds or 0, hold
    )


def _compare(here: Host, there: Host) -> tuple[int, list[str]]:
    ends = []
    for host in (here, there):
        said = host.do(guest.monitor(host).execute("x-query-ramblock"))
        ends.append((host.pid(guest.NAME), blocks(said["human-readable-text"])))
    return differing(*ends)


def _wait(source: Host) -> None:
    """Wait until post-copy has brought everything, while the guest runs nowhere. Raises LabError if it does not."""
    deadline = time.monotonic() + _ALL_HERE
    while time.monotonic() < deadline:
        try:
            status = source.do(guest.monitor(source).execute("query-migrate"))["status"]
        except HypervisorError:
            status = "deaf"
        if status == "completed":
            return
        time.sleep(0.1)
    raise LabError(f"post-copy has not brought everything in {_ALL_HERE:g} s")
