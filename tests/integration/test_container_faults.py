"""A move of a container to which something happens: a process dies, the line is cut, a disk is full, the other end is
another. The container runs once, with right memory, and nothing is left over."""
# ruff: noqa: F401, F811 - fixtures are imported

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.hypervisors.container import silence
from agents.hypervisors.container.container import SOCKET
from agents.hypervisors.hypervisor import Fenced, HypervisorError, Refused
from controller.wire.moves import Tuning
from lab.container_hosts import container_at
from lab.hosts import Host, Hosts, last
from lab.patience import until
from tests.integration.container_hosts import (
    MIB,
    NAME,
    aborted,
    condition,
    container_images,
    hand_over,
    hosts,
    machine,
    memory,
    move,
    prepare,
    processes,
    right,
    shell,
    start,
    stream,
)

pytestmark = pytest.mark.lab


@pytest.fixture
def working(hosts: Hosts) -> Hosts:
    """The hosts, with a container at the first one that writes memory."""
    start(hosts.one)
    shell(hosts.one, f"/bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=1")
    return hosts


def kill_transfer(host: Host) -> None:
    os.kill(int((host.state / NAME / f"{SOCKET}.pid").read_text()), signal.SIGKILL)


def during_the_rounds(hosts: Hosts, then: Callable[[], None]) -> None:
    """Begin the move m1, and do something when some of the memory has gone. Raises what the move raises."""
    target = prepare(hosts.two, "m1")
    copying = hosts.one.begin(last(hosts.one.driver.memory(NAME, "m1", target, Tuning())))
    until(lambda: (hosts.two.state / NAME / "upper").is_dir(), "a round has begun", 20)
    time.sleep(1)
    then()
    copying.result(60)


def goes_on(hosts: Hosts) -> None:
    """Abort the move m1; the next one brings the container over."""
    aborted(hosts.one, hosts.two)
    move(hosts.one, hosts.two, "m2")
    right(hosts.two)


@pytest.mark.parametrize("end", [0, 1], ids=["source", "destination"])
def test_a_weft_transfer_that_is_killed_costs_the_move(working: Hosts, end: int) -> None:
    with pytest.raises(HypervisorError, match=r"its state did not get there|weft-transfer"):
        during_the_rounds(working, lambda: kill_transfer(working.two if end else working.one))
    assert condition(working.one) == "running"
    goes_on(working)


def test_a_cut_costs_the_move_at_both_ends(working: Hosts, tmp_path: Path) -> None:
    device = stream(working, tmp_path)
    with pytest.raises(HypervisorError):
        during_the_rounds(working, working.cut)
    working.mend()
    assert condition(working.one) == "running"
    goes_on(working)
    assert device.verdict().intact


def test_a_cut_in_the_pause_lets_the_container_run_on(working: Hosts, tmp_path: Path) -> None:
    one, two, device = working.one, working.two, stream(working, tmp_path)
    memory(one, "m1", prepare(two, "m1"))
    shell(one, f"/bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=40")  # much for the pause to carry
    working.cut()
    with pytest.raises(HypervisorError):
        one.do(one.driver.switchover(NAME, "m1"))
    working.mend()
    assert (condition(one), condition(two)) == ("running", "waiting")
    assert not two.do(two.driver.arrived(NAME, "m1"))
    with pytest.raises(Fenced):
        two.do(two.driver.activate(NAME, "m1"))
    shell(one, f"/bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=1")
    goes_on(working)
    assert device.verdict().intact


@pytest.mark.parametrize("program", ["criu", "runc"])
def test_a_dump_that_is_killed_leaves_a_container_that_can_move(working: Hosts, program: str) -> None:
    one, two = working.one, working.two
    target = prepare(two, "m1")
    copying = one.begin(last(one.driver.memory(NAME, "m1", target, Tuning())))
    word = "swrk" if program == "criu" else "checkpoint"
    killed = False
    for _ in range(400):
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(program.encode()) and word.encode() in words:
                os.kill(int(path.name), signal.SIGKILL)
                killed = True
        if killed or copying.done():
            break
        time.sleep(0.005)
    assert killed
    with pytest.raises(HypervisorError):
        copying.result(60)
    if condition(one) == "running":  # a process may have died with the code that CRIU runs in it
        aborted(one, two)
        move(one, two, "m2")
    else:
        assert condition(one) == "stopped"
        two.do(two.driver.abort(NAME, "m1"))
        one.do(one.driver.abort(NAME, "m1"))
    assert condition(two) in ("running", "gone")


def test_both_agents_may_restart_at_any_step(working: Hosts, tmp_path: Path) -> None:
    def restarted() -> None:
        for number in (0, 1):
            working.restart(number)

    device = stream(working, tmp_path)
    target = prepare(working.two, "m1")
    restarted()
    memory(working.one, "m1", target)
    restarted()
    working.one.do(working.one.driver.switchover(NAME, "m1"))
    restarted()
    working.two.do(working.two.driver.activate(NAME, "m1"))
    restarted()
    working.two.do(working.two.driver.announce(NAME))
    working.one.do(working.one.driver.discard(NAME))
    assert (condition(working.one), condition(working.two)) == ("gone", "running")
    right(working.two)
    assert device.verdict().intact


def test_an_agent_that_dies_right_after_the_restore_leaves_nobody_deaf_or_without_leases(
    working: Hosts, tmp_path: Path
) -> None:
    def watchers() -> int:
        return sum(line.startswith("nsenter") and line.rstrip().endswith(" watch") for line in processes(two.state))

    def flows() -> None:
        before = len(device.series())
        until(lambda: len(device.series()) > before + 50, "data flows", 10)

    two = working.two
    device = stream(working, tmp_path)
    move(working.one, two, "m1")
    container = container_at(two, NAME)
    for died_before_the_watcher in (False, True):
        kept = container.known()
        assert kept.move is not None
        kept.move.role = "incoming"
        container.save(kept)
        two.do(silence.deafen(container.sandbox, None))
        if died_before_the_watcher:
            two.do(container.sandbox.run("pkill", "-f", "weft-guest watch"))
            until(lambda: watchers() == 0, "nobody leases", 5)
        two.do(two.driver.activate(NAME, "m1"))
        flows()
        assert watchers() == 1
    assert device.verdict().intact


def test_a_disk_that_is_full_there_costs_the_move(working: Hosts) -> None:
    state = working.two.state
    state.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(state)], check=True)
    try:
        with pytest.raises(HypervisorError, match=r"no space left on device|is its disk full"):
            memory(working.one, "m1", prepare(working.two, "m1"))
        aborted(working.one, working.two)
    finally:
        subprocess.run(["umount", "--lazy", str(state)], check=True)
    assert not processes(state)


def test_sockets_that_criu_does_not_restore_are_refused_before_anything_is_frozen(hosts: Hosts) -> None:
    one, two = hosts.one, hosts.two
    start(one)
    sandbox = container_at(one, NAME).sandbox
    one.do(sandbox.run("sh", "-c", "echo 1 >/proc/sys/net/mptcp/enabled"))
    shell(one, "setsid /bin/weft-work serve 7777 >/dev/null 2>&1 &")
    with pytest.raises(Refused, match="Multipath TCP sockets"):
        memory(one, "m1", prepare(two, "m1"))
    aborted(one, two)


@pytest.mark.parametrize("what", ["board", "features", "accelerator"])
def test_another_platform_there_is_refused(working: Hosts, what: str) -> None:
    target = prepare(working.two, "m1")
    assert target.platform is not None
    other = {"board": "Linux 5.10", "accelerator": "CRIU 3.17", "features": ["fpu"]}[what]
    elsewhere = target.model_copy(update={"platform": target.platform.model_copy(update={what: other})})
    with pytest.raises(Refused, match="would not be the same there"):
        memory(working.one, "m1", elsewhere)
    aborted(working.one, working.two)


def test_an_image_that_differs_there_is_refused(working: Hosts) -> None:
    target = prepare(working.two, "m1")
    assert target.platform is not None
    files = dict.fromkeys(target.platform.files, "0" * 64)
    elsewhere = target.model_copy(update={"platform": target.platform.model_copy(update={"files": files})})
    with pytest.raises(Refused, match="file work/manifest"):
        memory(working.one, "m1", elsewhere)
    aborted(working.one, working.two)
    with pytest.raises(Refused, match="option 'comand' is none"):
        prepare(working.two, "m2", machine(options={"comand": "x"}))
    assert condition(working.two) == "gone"
