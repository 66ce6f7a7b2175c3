"""A move over a thin line to which something happens: a process dies, the line is cut, a disk is full. The machine runs
once, with right data, and the next move brings it over."""
# ruff: noqa: F401, F811 - fixtures are imported

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.weft_transfer import DISK_SOCKET
from controller.wire.machines import Machine
from controller.wire.moves import Target, Tuning
from lab.hosts import Host, Hosts, last
from lab.patience import until
from tests.integration.qemu_hosts import boot, condition, copy, hand_over, images, kind, machine, prepare, right, work
from tests.integration.thin_hosts import BOTH, copy_disk, kill, thin, transfer

pytestmark = pytest.mark.lab


WHAT = machine(disk=None)


def runs_on(one: Host, two: Host, *kinds: str, what: Machine | None = None) -> None:
    """Abort the move m1: the machine runs at the source alone, and the next move brings it over, with right data."""
    two.do(two.driver.abort("vm1", "m1"))
    one.do(one.driver.abort("vm1", "m1"))
    assert (condition(one), condition(two)) == ("running", "gone")
    copy(one, "m2", prepare(two, "m2", what=what))
    hand_over(one, two, "m2")
    right(two, *kinds)


def disk_is_there(thin: Hosts) -> Target:
    """Boot a machine that writes memory and disk, and copy its disk by the move m1; return the move's target."""
    boot(thin.one)
    work(thin.one, "memory", "start", "mib=16", "rate=1")
    work(thin.one, "disk", "start", "mib=16", "rate=1")
    target = prepare(thin.two, "m1")
    copy_disk(thin.one, "m1", target, Tuning())
    return target


def during(thin: Hosts, target: Target, then: Callable[[], None]) -> None:
    """Copy the memory of the move m1, and do something once, when some of it has gone."""

    async def memory() -> None:
        done = False
        async for figures in thin.one.driver.memory("vm1", "m1", target, Tuning()):
            if figures.wire and not done:
                done = True
                await asyncio.get_running_loop().run_in_executor(None, then)

    thin.one.do(memory())


@pytest.mark.parametrize("end", ["source", "destination"])
def test_a_disks_weft_transfer_that_is_killed_costs_the_move_and_no_data(thin: Hosts, end: str) -> None:
    one, two = thin.one, thin.two
    target = disk_is_there(thin)
    kill(one if end == "source" else two, DISK_SOCKET)

    def failed() -> bool:
        try:
            copy_disk(one, "m1", target, Tuning())
        except HypervisorError as error:
            return "the disk cannot be copied" in str(error)
        return False

    until(failed, "the copy has failed", 20)
    runs_on(one, two, "disk")


@pytest.mark.parametrize("end", ["source", "destination"])
def test_a_weft_transfer_that_is_killed_costs_the_move_and_not_the_guest(thin: Hosts, end: str) -> None:
    """The guest runs on, and the next move brings it over."""
    one, two = thin.one, thin.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=1")
    target = prepare(two, "m1")

    async def memory() -> None:
        async for _ in one.driver.memory("vm1", "m1", target, Tuning()):
            kill(one if end == "source" else two)

    with pytest.raises(HypervisorError, match="memory cannot be transferred"):
        one.do(memory())
    runs_on(one, two, "memory")


def test_a_line_that_is_cut_for_a_second_costs_time_only(thin: Hosts) -> None:
    one, two = thin.one, thin.two
    target = disk_is_there(thin)

    def cut() -> None:
        thin.cut()
        time.sleep(1)
        thin.mend()

    during(thin, target, cut)
    hand_over(one, two, "m1")
    right(two, "memory", "disk")


@pytest.mark.parametrize("step", ["memory", "switchover"])
def test_a_line_that_is_cut_costs_the_move_and_not_the_guest(thin: Hosts, step: str) -> None:
    """Both ends notice while the line is cut, and the guest runs on. The next move brings it over when it is mended."""
    one, two = thin.one, thin.two
    target = disk_is_there(thin)
    if step == "memory":
        with pytest.raises(HypervisorError, match="memory cannot be transferred"):
            during(thin, target, thin.cut)
    else:
        copy(one, "m1", target)
        thin.cut()
        with pytest.raises(HypervisorError):
            one.do(one.driver.switchover("vm1", "m1"))
        one.do(one.driver.abort("vm1", "m1"))
    right(one, "memory", "disk")
    until(lambda: not any(transfer(host, socket).runs() for host in (one, two) for socket in BOTH), "both end", 30)
    thin.mend()
    runs_on(one, two, "memory", "disk")


@pytest.fixture(params=["1", "2"], ids=["source", "destination"])
def enlarge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Put a file system of 16 MiB below one host's state; yield a function that makes it large. It stays until that
    host's machines have ended: the fixture `thin` has to come later."""
    folder = tmp_path / request.param
    folder.mkdir()
    _run("mount", "-t", "tmpfs", "-o", "size=16m", "weft-small", folder)
    try:
        yield partial(_run, "mount", "-o", "remount,size=1g", folder)
    finally:
        _run("umount", "--lazy", folder)


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True)


def test_a_full_disk_costs_the_move_and_not_the_guest(enlarge: Callable[[], None], thin: Hosts) -> None:
    """There is no room for the copy of the memory. When there is, the next move brings the machine over."""
    one, two = thin.one, thin.two
    boot(one, WHAT)
    work(one, "memory", "start", "mib=16", "rate=1")
    target = prepare(two, "m1", what=WHAT)
    with pytest.raises(HypervisorError, match=r"memory cannot be transferred: .*weft-transfer: "):
        one.do(last(one.driver.memory("vm1", "m1", target, Tuning())))
    enlarge()
    runs_on(one, two, "memory", what=WHAT)
