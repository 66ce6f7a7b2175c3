"""The moves of one cell: a line, a state of the guest, and a way."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from agents.hypervisors.hypervisor import HypervisorError, Site
from agents.hypervisors.qemu import base_memory
from controller.wire.machines import Machine
from controller.wire.moves import Figures
from lab.bench_thin.cases import STATES, Line, State, Way
from lab.hosts import Host, Hosts, last

AWAY = 20.0
"""Seconds between the way out and the way home."""

_SETTLE = 3.0  # seconds for which the guest works before a move
_MACS = ("52:54:00:00:00:0a", "52:54:00:00:00:0b")


@dataclass(frozen=True)
class Moved:
    """One move. `seconds` are from the order to prepare until the guest runs there; None if it did not end in time.
    `wire` is in bytes."""

    line: str
    state: str
    way: str
    seconds: float | None
    paused_ms: float = 0.0
    wire: int = 0
    rounds: int = 0


def _guest(state: State) -> Machine:
    return Machine(name="vm1", driver="qemu", image=state.image, memory=state.mib << 20, macs=_MACS, disk=state.disk)


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
    hosts = Hosts(folder, own, (line.rate,), options, line.rtt, loss=line.loss)
    try:
        yield hosts
    finally:
        hosts.close()


def trial(own: Path, line: Line, state: str, way: Way, often: int, limit: float) -> Iterator[Moved]:
    """Make `often` moves to and fro; a way home is measured every second time. A move that has not copied the memory
    after `limit` seconds is given up, and is the cell's last."""
    with TemporaryDirectory(prefix="weft-thin-") as folder, _hosts(Path(folder) / "h", own, line, way.options) as hosts:
        here, there, guest = hosts.one, hosts.two, _guest(STATES[state])
        here.do(here.driver.start(guest, here.attachment, "a"))
        here.do(here.driver.guest("vm1", "true", seconds=90))
        for words in STATES[state].programs:
            here.do(here.driver.guest("vm1", *words, seconds=90))
        for number in range(2 * often if way.home else often):
            time.sleep(AWAY if way.home and number % 2 else _SETTLE)
            moved = _move(here, there, guest, f"m{number}", line, state, way, limit)
            if not way.home or number % 2:
                yield moved
            if moved.seconds is None:
                return
            here, there = there, here


def _move(here: Host, there: Host, guest: Machine, name: str, line: Line, state: str, way: Way, limit: float) -> Moved:
    began, tuning = time.monotonic(), way.tuning
    target = there.do(there.driver.prepare(guest, there.attachment, "a", name, tuning))
    disk = Figures()
    try:
        if guest.disk:
            disk = here.do(last(here.driver.disk("vm1", name, target, tuning)), limit)
        copied = here.do(last(here.driver.memory("vm1", name, target, tuning)), limit)
    except TimeoutError:
        there.do(there.driver.abort("vm1", name))
        here.do(here.driver.abort("vm1", name))
        return Moved(line.name, state, way.name, None)
    figures = here.do(here.driver.switchover("vm1", name))
    there.do(there.driver.activate("vm1", name))
    seconds = time.monotonic() - began
    _discarded(here)
    wire = sum(part.wire or 0 for part in (disk, copied, figures))
    return Moved(line.name, state, way.name, seconds, figures.paused_ms or 0.0, wire, figures.rounds or 0)


def _discarded(here: Host) -> None:
    """Discard the machine at its source; after post-copy as soon as all memory has gone."""
    deadline = time.monotonic() + 120
    while True:
        with suppress(HypervisorError):
            return here.do(here.driver.discard("vm1"))
        if time.monotonic() > deadline:
            here.do(here.driver.discard("vm1"))
        time.sleep(0.2)
