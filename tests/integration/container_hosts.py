"""Two hosts with the container driver and one LAN, for tests of containers; and their calls as functions of a few
words."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.container.platform import chrooted
from controller.wire.machines import Machine
from controller.wire.moves import Figures, Target, Tuning
from lab.container_hosts import ContainerHosts, lease
from lab.containers.build import IMAGE, build
from lab.hosts import Host, Hosts, last
from lab.work import Stream

NAME = "ct1"
ADDRESS, LAN = "10.9.0.3", "10.9.0.1/24"
MIB = 40  # of memory that the container writes


@pytest.fixture(scope="session")
def container_images() -> Path:
    return build()


@pytest.fixture
def hosts(tmp_path: Path, container_images: Path) -> Iterator[Hosts]:
    """Two hosts with a line of 60 Mbit/s between them."""
    if asyncio.run(chrooted()):
        pytest.skip("a changed root (chroot): CRIU restores no container below it")
    both = ContainerHosts(tmp_path, container_images, rates=(60,), lan=LAN)
    try:
        yield both
    finally:
        both.close()


def machine(**changes: object) -> Machine:
    macs = ("02:00:00:78:00:0a", "02:00:00:78:00:0b")
    plain = Machine(name=NAME, driver="container", image=IMAGE, memory=256 << 20, vcpus=2, macs=macs)
    return plain.model_copy(update=changes)


def start(host: Host, what: Machine | None = None) -> None:
    """Start the container, with an address as if it had leased it."""
    host.do(host.driver.start(what or machine(), host.attachment, "a"))
    lease(host, NAME, f"{ADDRESS}/24")


def stream(hosts: Hosts, folder: Path) -> Stream:
    """Return a device's connection with the container, which carries data both ways."""
    return Stream(hosts.one.name, ADDRESS, folder / "stream.csv", down=300_000, up=100_000)


def shell(host: Host, command: str) -> str:
    return host.do(host.driver.guest(NAME, "/bin/sh", "-c", command))


def condition(host: Host) -> str:
    state = host.do(host.driver.machines()).get(NAME)
    return state.condition if state else "gone"


def prepare(host: Host, move: str, what: Machine | None = None, tuning: Tuning | None = None) -> Target:
    return host.do(host.driver.prepare(what or machine(), host.attachment, "a", move, tuning or Tuning()))


def memory(host: Host, move: str, target: Target, tuning: Tuning | None = None) -> Figures:
    return host.do(last(host.driver.memory(NAME, move, target, tuning or Tuning())))


def hand_over(here: Host, there: Host, move: str) -> Figures:
    """Hand the container over; return the figures of the switchover."""
    figures = here.do(here.driver.switchover(NAME, move))
    assert (condition(here), condition(there)) == ("moved", "waiting")
    there.do(there.driver.activate(NAME, move))
    there.do(there.driver.announce(NAME))
    assert condition(there) == "running"
    here.do(here.driver.discard(NAME))
    assert condition(here) == "gone"
    return figures


def move(here: Host, there: Host, name: str, tuning: Tuning | None = None) -> Figures:
    memory(here, name, prepare(there, name, tuning=tuning), tuning)
    return hand_over(here, there, name)


def right(host: Host) -> None:
    """Check that the container reads back the memory that it has written, and that there is some."""
    verdict: dict[str, Any] = json.loads(shell(host, "/bin/weft-work ask 127.0.0.1 memory verdict"))
    assert verdict["wrong"] == 0 and verdict["written"] > 0, verdict


def aborted(one: Host, two: Host, name: str = "m1") -> None:
    """Abort the move: the container runs at the source alone."""
    two.do(two.driver.abort(NAME, name))
    one.do(one.driver.abort(NAME, name))
    assert (condition(one), condition(two)) == ("running", "gone")


def processes(folder: Path) -> list[str]:
    """Return the command lines of all processes that belong to containers below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            cwd = str((path / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in words or cwd.startswith(str(folder)):
            found.append(words)
    return found
