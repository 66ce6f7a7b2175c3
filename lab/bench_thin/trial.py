"""The moves of one cell: a line, a state of the guest, and a way."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from agents.hypervisors.hypervisor import HypervisorError, Site
from agents.hypervisors.qemu import base_memory
from controller.wire.machines import Machine
from controller.wire.moves import Figures
from lab.bench_thin.cases import STATES, Line, State, Way
from lab.bench_thin.processors import Processors
from lab.hosts import Host, Hosts, last
from lab.work import Echo

AWAY = 20.0
"""Seconds between the way out and the way home."""

_SETTLE = 3.0  # seconds for which the guest works before a move
_DEVICE, _GUEST = "10.78.0.1", "10.78.0.2"
_REACHABLE = ("sh", "-c", f"ip link set eth0 up && ip addr add {_GUEST}/24 dev eth0")


@dataclass(frozen=True)
class Moved:
    """One move of one machine. `seconds` are from the order to prepare until the guest runs there; None if it did not
    end in time. `stalled_ms` is the longest time that a client at the source waited for an answer, None if several
    machines moved at once. `wire` and `disk` are bytes on the line, for memory and for the disk; `processor` are the
    seconds of a processor that both ends took, without the guest's own."""

    line: str
    state: str
    way: str
    seconds: float | None
    paused_ms: float = 0.0
    stalled_ms: float | None = None
    wire: int = 0
    disk: int = 0
    processor: float = 0.0
    rounds: int = 0


def _guest(state: State, number: int) -> Machine:
    name, macs = f"vm{number}", (f"52:54:00:00:{number:02x}:0a", f"52:54:00:00:{number:02x}:0b")
    return Machine(name=name, driver="qemu", image=state.image, memory=state.mib << 20, macs=macs, disk=state.disk)


@contextmanager
def images(folder: Path, states: Sequence[str], base: bool) -> Iterator[Path]:
    """Yield the images of those states, each with a base memory or without."""
    with TemporaryDirectory(prefix="weft-images-") as temporary:
        own = Path(temporary) / "images"
        for name, memory in {STATES[state].image: STATES[state].mib for state in states}.items():
            shutil.copytree(folder / name, own / name, copy_function=os.symlink)
            if base:
                with _hosts(Path(temporary) / "boot", own, Line(1000, 0), {}) as hosts:
                    site = Site("c1", Path(temporary) / "base", own, "", options={"accelerator": "tcg"})
                    hosts.one.do(base_memory.make(site, name, memory << 20, 120), 300)
        yield own


@contextmanager
def _hosts(folder: Path, own: Path, line: Line, options: dict[str, str]) -> Iterator[Hosts]:
    folder.mkdir(parents=True)
    hosts = Hosts(folder, own, (line.rate,), options, line.rtt, loss=line.loss, lan=f"{_DEVICE}/24")
    try:
        yield hosts
    finally:
        hosts.close()


def trial(own: Path, line: Line, state: str, way: Way, often: int, limit: float) -> Iterator[Moved]:
    """Make `often` moves to and fro; a way home is measured every second time. A move that has not copied the memory
    after `limit` seconds is given up, and is the cell's last."""
    with TemporaryDirectory(prefix="weft-thin-") as folder, _hosts(Path(folder) / "h", own, line, way.options) as hosts:
        cell = _Cell(hosts, Path(folder), line.name, state, way, limit)
        cell.begin()
        for number in range(2 * often if way.home else often):
            time.sleep(AWAY if way.home and number % 2 else _SETTLE)
            moved = cell.move(f"m{number}")
            if not way.home or number % 2:
                yield from moved
            if any(one.seconds is None for one in moved):
                return


class _Cell:
    """The machines of one cell, which go to and fro."""

    def __init__(self, hosts: Hosts, folder: Path, line: str, state: str, way: Way, limit: float) -> None:
        self._here, self._there, self._folder = hosts.one, hosts.two, folder
        self._line, self._state, self._way, self._limit = line, state, way, limit
        self._guests = [_guest(STATES[state], number + 1) for number in range(STATES[state].machines)]
        self._client = hosts.one.name

    def begin(self) -> None:
        """Boot the machines, and let them work."""
        here = self._here
        for guest in self._guests:
            here.do(here.driver.start(guest, here.attachment, "a"))
        for guest in self._guests:
            for words in (
                ("true",),
                ("ip", "addr", "add", f"{_GUEST}/24", "dev", "eth0"),
                *STATES[self._state].programs,
            ):
                here.do(here.driver.guest(guest.name, *words, seconds=120))

    def move(self, name: str) -> list[Moved]:
        """Move all of them, while a client asks, if there is one machine."""
        with ThreadPoolExecutor(len(self._guests)) as pool:
            if len(self._guests) > 1:
                moved = list(pool.map(lambda guest: self._move(guest, name, lambda: None), self._guests))
            else:
                moved = [self._watched(self._guests[0], name)]
        self._here, self._there = self._there, self._here
        return moved

    def _watched(self, guest: Machine, name: str) -> Moved:
        client = Echo(self._client, _GUEST, self._folder / "echo.csv")
        try:
            return self._move(guest, name, lambda: client.verdict().longest * 1000)
        finally:
            client.kill()

    def _move(self, guest: Machine, name: str, stalled: Callable[[], float | None]) -> Moved:
        here, there, tuning = self._here, self._there, self._way.tuning
        used, began = Processors(guest.name), time.monotonic()
        used.begin(here)
        target = there.do(there.driver.prepare(guest, there.attachment, "a", name, tuning))
        disk = Figures()
        try:
            if guest.disk:
                disk = here.do(last(here.driver.disk(guest.name, name, target, tuning)), self._limit)
            copied = here.do(last(here.driver.memory(guest.name, name, target, tuning)), self._limit)
        except TimeoutError:
            there.do(there.driver.abort(guest.name, name))
            here.do(here.driver.abort(guest.name, name))
            return Moved(self._line, self._state, self._way.name, None)
        figures = here.do(here.driver.switchover(guest.name, name))
        there.do(there.driver.activate(guest.name, name))
        seconds = time.monotonic() - began
        _discarded(here, guest.name, used)
        time.sleep(_SETTLE)  # the client has its answer
        return Moved(
            self._line,
            self._state,
            self._way.name,
            seconds,
            figures.paused_ms or 0.0,
            stalled(),
            (copied.wire or 0) + (figures.wire or 0),
            disk.wire or 0,
            used.seconds(there),
            figures.rounds or 0,
        )


def _discarded(here: Host, name: str, used: Processors) -> None:
    """Discard the machine at its source; after post-copy as soon as all memory has gone."""
    deadline = time.monotonic() + 120
    while True:
        used.end(here)
        with suppress(HypervisorError):
            return here.do(here.driver.discard(name))
        if time.monotonic() > deadline:
            here.do(here.driver.discard(name))
        time.sleep(0.2)
