"""The qemu driver with real guests: two hosts with a link between them; each test names its action and the host."""
# ruff: noqa: F401, F811 - fixtures are imported

import asyncio
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import Answering, Fenced, HypervisorError, Refused
from agents.hypervisors.qemu.condition import SILENT
from agents.hypervisors.qemu.vm import Vm
from controller.wire.machines import Disk
from controller.wire.moves import Tuning
from lab.hosts import Host, Hosts, kill, last
from lab.patience import until
from tests.integration.qemu_hosts import (
    boot,
    condition,
    copy,
    detail,
    discarded,
    hand_over,
    hosts,
    images,
    kind,
    machine,
    move,
    prepare,
    right,
    shell,
    work,
)

pytestmark = pytest.mark.lab


@pytest.mark.smoke
def test_there_and_back_under_load(hosts: Hosts) -> None:
    """Two CPUs, with memory and disk written all the time: the guest's data is correct after each move."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "memory", "start", "mib=32", "rate=8")
    work(one, "disk", "start", "mib=16", "rate=2")
    for number, (here, there) in enumerate(((one, two), (two, one))):
        assert move(here, there, f"m{number}") < 5000
        right(there, "memory", "disk")
    one.do(one.driver.stop("vm1"))
    assert condition(one) == "stopped"
    overlay = str(one.state / "vm1" / "disk.qcow2")
    subprocess.run(["qemu-img", "check", "-q", overlay], check=True)


COUNTER = """\
for page in 0 1 2 3 4 5 6 7; do yes weft | tr -d '\\n' | head -c 4096 > /page$page; done
count=0
while [ ! -e /enough ]; do
  count=$((count + 1))
  for page in 0 1 2 3 4 5 6 7; do printf %08d $count 1<> /page$page; done
  sleep 0.01
done"""
"""A program for the guest: eight pages of memory, in each of which a few bytes change all the time. Xbzrle is for this
case."""


def counted(host: Host) -> set[int]:
    """Return the numbers that the counter last wrote into the pages; check that the rest of each page is unchanged."""
    pages = [shell(host, f"cat /page{page}") for page in range(8)]
    assert {page[8:] for page in pages} == {"weft" * 1022}
    return {int(page[:8]) for page in pages}


def test_there_and_back_with_xbzrle(tmp_path: Path, images: Path, kind: type[Hosts]) -> None:
    """The same under load, where QEMU sends the changed bytes of a page instead of the page if they are fewer."""
    hosts = kind(tmp_path, images, options={"compression": "xbzrle"})
    one, two = hosts.one, hosts.two

    def changes(host: Host) -> int:
        return int(host.do(Vm(host.state / "vm1").monitor.execute("query-migrate"))["xbzrle-cache"]["pages"])

    try:
        boot(one)
        work(one, "memory", "start", "mib=16", "rate=4")
        shell(one, f"sh -c {shlex.quote(COUNTER)} > /dev/null 2>&1 &")
        reached = 0
        for number, (here, there) in enumerate(((one, two), (two, one))):
            copy(here, f"m{number}", prepare(there, f"m{number}"))
            until(lambda at=here: changes(at) > 8, "pages go as what has changed in them", 30)  # type: ignore[misc]
            assert hand_over(here, there, f"m{number}") < 5000
            right(there, "memory")
            assert min(counted(there)) > reached
            reached = max(counted(there))
        shell(one, "touch /enough; sleep 1")
        assert len(counted(one)) == 1
    finally:
        hosts.close()


def test_abort_leaves_the_source_running(hosts: Hosts) -> None:
    """The move is aborted after prepare, disk and memory, and after the switchover; a further move is not aborted."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=4")
    work(one, "disk", "start", "mib=8", "rate=1")
    for number, phase in enumerate(("prepare", "disk", "memory", "switchover")):
        name = f"m{number}"
        target = prepare(two, name)
        if phase in ("disk", "memory", "switchover"):
            one.do(last(one.driver.disk("vm1", name, target, Tuning())))
        if phase in ("memory", "switchover"):
            one.do(last(one.driver.memory("vm1", name, target, Tuning())))
        if phase == "switchover":
            one.do(one.driver.switchover("vm1", name))
        for _ in range(2):  # twice is no error
            two.do(two.driver.abort("vm1", name))
            one.do(one.driver.abort("vm1", name))
        assert (condition(one), condition(two)) == ("running", "gone"), phase
        right(one, "memory", "disk")
    move(one, two, "m9")
    right(two, "memory", "disk")


def test_same_again_and_after_restarts(hosts: Hosts) -> None:
    """Agents that restart between any two acts, and ask for each act twice, see the same move."""
    boot(hosts.one)
    target = prepare(hosts.two, "m1")
    hosts.restart(1)
    assert prepare(hosts.two, "m1") == target
    with pytest.raises(Fenced):
        prepare(hosts.two, "m2")
    with pytest.raises(Fenced):
        hosts.two.do(hosts.two.driver.activate("vm1", "m1"))
    for _ in range(2):
        copy(hosts.one, "m1", target)
        hosts.restart(0)
        assert condition(hosts.one) == "running"
    with pytest.raises(Fenced):
        hosts.one.do(hosts.one.driver.discard("vm1"))
    for _ in range(2):
        hosts.one.do(hosts.one.driver.switchover("vm1", "m1"))
        hosts.restart(0)
    with pytest.raises(Fenced):
        boot(hosts.one)
    for _ in range(2):
        hosts.two.do(hosts.two.driver.activate("vm1", "m1"))
        hosts.restart(1)
    hosts.two.do(hosts.two.driver.abort("vm1", "m0"))
    assert (condition(hosts.one), condition(hosts.two)) == ("moved", "running")


def test_killed_source(hosts: Hosts) -> None:
    """Before the switchover the waiting machine does not run and can be aborted. After it the destination continues
    alone."""
    one, two = hosts.one, hosts.two
    boot(one)
    target = prepare(two, "m1")
    copy(one, "m1", target)
    kill(one.state / "vm1" / "pid")
    assert condition(one) == "stopped"
    with pytest.raises(HypervisorError):
        one.do(one.driver.switchover("vm1", "m1"))
    assert not two.do(two.driver.arrived("vm1", "m1"))
    with pytest.raises(Fenced):
        two.do(two.driver.activate("vm1", "m1"))
    for host in (two, one):
        host.do(host.driver.abort("vm1", "m1"))
    assert condition(two) == "gone"
    boot(one)  # from its disk
    copy(one, "m2", prepare(two, "m2"))
    one.do(one.driver.switchover("vm1", "m2"))
    kill(one.state / "vm1" / "pid")
    assert condition(one) == "moved"
    two.do(two.driver.activate("vm1", "m2"))
    assert condition(two) == "running"
    shell(two, "true")


def test_killed_destination(hosts: Hosts) -> None:
    """During the memory transfer the source continues to run. In the switchover it is paused, and an abort resumes
    it."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=4")
    target = prepare(two, "m1")
    going = one.begin(last(one.driver.memory("vm1", "m1", target, Tuning(bandwidth=20_000_000))))
    time.sleep(1)
    kill(two.state / "vm1" / "pid")
    with pytest.raises(HypervisorError, match="memory cannot be transferred"):
        going.result(60)
    assert (condition(one), condition(two)) == ("running", "stopped")
    target = prepare(two, "m1")  # again, and so another one
    copy(one, "m1", target)
    kill(two.state / "vm1" / "pid")
    with pytest.raises(HypervisorError):
        one.do(one.driver.switchover("vm1", "m1"))
    assert condition(one) in ("running", "paused")
    assert not two.do(two.driver.arrived("vm1", "m1"))
    for host in (two, one):
        host.do(host.driver.abort("vm1", "m1"))
    assert (condition(one), condition(two)) == ("running", "gone")
    right(one, "memory")


def test_destination_killed_over_and_over(hosts: Hosts) -> None:
    """The source waits for its switchover while its memory changes all the time: a lost connection must never make QEMU
    hang."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=4")
    for number in range(8):
        move = f"m{number}"
        copy(one, move, prepare(two, move))
        time.sleep(0.05 * number)
        kill(two.state / "vm1" / "pid")
        time.sleep(0.5)
        for host in (two, one):
            host.do(host.driver.abort("vm1", move), 45)
        assert (condition(one), condition(two)) == ("running", "gone")


def test_path_that_is_gone(hosts: Hosts) -> None:
    """The WAN is cut when disk and memory are in step: the guest continues to write, and an abort loses no data."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "disk", "start", "mib=8", "rate=2")
    copy(one, "m1", prepare(two, "m1"))
    hosts.cut()
    shell(one, "dd if=/dev/zero of=/disk/more bs=64k count=1 conv=fsync")
    with pytest.raises(HypervisorError):
        one.do(one.driver.switchover("vm1", "m1"))
    assert condition(one) == "running"
    one.do(one.driver.abort("vm1", "m1"))
    two.do(two.driver.abort("vm1", "m1"))
    assert (condition(one), condition(two)) == ("running", "gone")
    right(one, "disk")


def test_guest_that_dirties_faster_than_the_link(tmp_path: Path, images: Path, kind: type[Hosts]) -> None:
    """The transfer does not converge by itself; QEMU slows the guest down until it does, or post-copy ends it."""
    hosts = kind(tmp_path, images, rates=(100,))
    one, two = hosts.one, hosts.two
    try:
        boot(one, machine(disk=None))
        work(one, "memory", "start", "mib=24", "rate=25")
        for number, (here, there, tuning) in enumerate(
            (
                (one, two, Tuning(downtime_ms=1000, compression=False, auto_converge=True)),
                (two, one, Tuning(compression=False, auto_converge=False, post_copy=True)),
            )
        ):
            target = prepare(there, f"m{number}", tuning, machine(disk=None))
            copy(here, f"m{number}", target, tuning)
            here.do(here.driver.switchover("vm1", f"m{number}"))
            there.do(there.driver.activate("vm1", f"m{number}"))
            right(there, "memory")
            discarded(here)
    finally:
        hosts.close()


def test_two_paths(tmp_path: Path, images: Path, kind: type[Hosts]) -> None:
    """Both paths carry the memory, over one MPTCP connection for each channel; nothing of them remains afterwards."""
    hosts = kind(tmp_path, images, rates=(60, 60))
    try:
        boot(hosts.one)
        work(hosts.one, "memory", "start", "mib=16", "rate=1")
        target = prepare(hosts.two, "m1")
        assert len(target.memory) == 2
        copy(hosts.one, "m1", target)
        sent = [hosts.sent(link) for link in (0, 1)]
        assert min(sent) > 0.25 * sum(sent), sent
        hand_over(hosts.one, hosts.two, "m1")
        right(hosts.two, "memory")
        assert "10.77" not in hosts.endpoints(1)
    finally:
        hosts.close()


def test_one_that_hangs(hosts: Hosts) -> None:
    """A machine that hangs is reported within the agent's time limit, delays no other call, continues where it was, and
    can be ended."""
    one = hosts.one
    boot(one)
    for ended in (False, True):
        os.kill(one.pid("vm1"), signal.SIGSTOP)
        until(lambda: condition(one) == "unresponsive", seconds=30)
        began = time.monotonic()
        assert detail(one) == SILENT and time.monotonic() - began < 2
        with pytest.raises(HypervisorError):
            one.do(one.driver.start(machine(), one.attachment, "a"))
        assert condition(one) == "unresponsive"
        if ended:
            one.do(one.driver.stop("vm1"))
            assert condition(one) == "stopped"
        else:
            os.kill(one.pid("vm1"), signal.SIGCONT)
            until(lambda: condition(one) == "running", seconds=30)
            shell(one, "true")


def test_a_guest_whose_agent_hangs_does_not_answer(hosts: Hosts) -> None:
    here = hosts.one
    boot(here)
    assert isinstance(here.driver, Answering)
    assert here.do(here.driver.answers("vm1"))
    hang = 'setsid sh -c "sleep 1; kill -STOP $PPID" >/dev/null 2>&1 </dev/null &'
    shell(here, hang)
    time.sleep(2)
    with pytest.raises((HypervisorError, TimeoutError)):
        here.do(asyncio.wait_for(here.driver.answers("vm1"), 3))
    assert condition(here) == "running"


def test_links_and_announcement(hosts: Hosts) -> None:
    """The guest sees the state of its cables, and it announces itself so that neighbours learn its place."""
    one = hosts.one
    boot(one)
    carrier = "for i in eth0 eth1; do ip link set $i up; done; sleep 0.5; cat /sys/class/net/eth[01]/carrier"
    assert shell(one, carrier).split() == ["1", "0"]
    one.do(one.driver.link("vm1", "b", True))
    assert shell(one, carrier).split() == ["1", "1"]
    one.do(one.driver.link("vm1", "a", False))
    assert shell(one, carrier).split() == ["0", "1"]
    assert one.do(one.driver.machines())["vm1"].serving == "b"
    before = hosts.received(0)
    one.do(one.driver.announce("vm1"))
    time.sleep(1)
    assert hosts.received(0) > before


def test_what_cannot_be_here(hosts: Hosts) -> None:
    """The driver refuses or fences each with the reason, and nothing remains."""
    one = hosts.one
    for what, words in (
        (machine(image="other"), "no image 'other'"),
        (machine(disk=Disk(base="other", bytes=512 << 20)), "no base 'other'"),
        (machine(memory=1 << 44), "bytes of memory"),
        (machine(disk=Disk(base="lab", bytes=1 << 20)), "its base"),
    ):
        with pytest.raises(Refused, match=words):
            prepare(one, "m1", what=what)
        assert condition(one) == "gone"
    with pytest.raises(HypervisorError, match="no such machine"):
        one.do(one.driver.link("vm1", "a", True))
    with pytest.raises(HypervisorError, match="does not run"):
        shell(one, "true")
