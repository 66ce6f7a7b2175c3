"""The calls that tests of QEMU's drivers make to two hosts, as functions of a few words; and fixtures for those
tests."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.hypervisor import Fenced, HypervisorError
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Figures, Target, Tuning
from lab.guests.build import build
from lab.hosts import Host, Hosts, last

VCPUS = 2


@pytest.fixture(scope="session")
def images() -> Path:
    return build()


@pytest.fixture
def kind() -> type[Hosts]:
    """The class of the hosts; another driver's tests replace it to run the same tests."""
    return Hosts


@pytest.fixture
def hosts(tmp_path: Path, images: Path, kind: type[Hosts]) -> Iterator[Hosts]:
    both = kind(tmp_path, images)
    yield both
    both.close()


def machine(name: str = "vm1", **changes: object) -> Machine:
    macs = ("52:54:00:00:00:0a", "52:54:00:00:00:0b")
    disk = Disk(base="lab", bytes=512 << 20)
    plain = Machine(name=name, driver="qemu", image="lab", memory=192 << 20, vcpus=VCPUS, macs=macs, disk=disk)
    return plain.model_copy(update=changes)


def boot(host: Host, what: Machine | None = None) -> None:
    """Boot a machine; a second time if QEMU itself has aborted, as with two CPUs under TCG it now and then does while a
    guest boots (docs/operate/qemu.md, "Traps")."""
    what = what or machine()
    host.do(host.driver.start(what, host.attachment, "a"))
    try:
        shell(host, "true", what.name)
    except HypervisorError:
        if "Assertion" not in (host.state / what.name / "log").read_text(errors="replace"):
            raise
        host.do(host.driver.start(what, host.attachment, "a"))
        shell(host, "true", what.name)


def shell(host: Host, command: str, name: str = "vm1", seconds: float = 60) -> str:
    return host.do(host.driver.guest(name, "sh", "-c", command, seconds=seconds))


def condition(host: Host, name: str = "vm1") -> str:
    state = host.do(host.driver.machines()).get(name)
    return state.condition if state else "gone"


def prepare(host: Host, move: str, tuning: Tuning | None = None, what: Machine | None = None) -> Target:
    return host.do(host.driver.prepare(what or machine(), host.attachment, "a", move, tuning or Tuning()))


def copy(here: Host, move: str, target: Target, tuning: Tuning | None = None) -> Figures:
    """Copy disk and memory; return the memory's figures."""
    if target.disk:
        here.do(last(here.driver.disk("vm1", move, target, tuning or Tuning())))
    return here.do(last(here.driver.memory("vm1", move, target, tuning or Tuning())))


def hand_over(here: Host, there: Host, move: str) -> float:
    """Hand the machine over; return the milliseconds that the source needed."""
    figures = here.do(here.driver.switchover("vm1", move))
    assert (condition(here), condition(there)) == ("moved", "waiting")
    assert there.do(there.driver.arrived("vm1", move))
    there.do(there.driver.activate("vm1", move))
    assert condition(there) == "running"
    here.do(here.driver.discard("vm1"))
    assert condition(here) == "gone"
    assert figures.paused_ms is not None
    return figures.paused_ms


def move(here: Host, there: Host, name: str, tuning: Tuning | None = None) -> float:
    copy(here, name, prepare(there, name, tuning), tuning)
    return hand_over(here, there, name)


def work(host: Host, *words: str) -> dict[str, Any]:
    """Ask the workloads in the guest (docs/operate/guests.md); return their answer."""
    said = host.do(host.driver.guest("vm1", "weft-work", "ask", "127.0.0.1", *words, seconds=90))
    found: dict[str, Any] = json.loads(said)
    return found


def right(host: Host, *kinds: str) -> None:
    """Check that the workloads read back the data that they wrote, and that there is some."""
    for kind in kinds:
        verdict = work(host, kind, "verdict")
        assert verdict["wrong"] == 0, verdict
        assert verdict["written"] > 0, verdict


def detail(host: Host) -> str:
    return host.do(host.driver.machines())["vm1"].detail


def discarded(host: Host) -> None:
    """Discard the machine as soon as that is possible: not while its memory is still on the way."""
    for _ in range(200):
        try:
            host.do(host.driver.discard("vm1"))
        except Fenced:
            raise
        except HypervisorError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("its memory never arrived")
