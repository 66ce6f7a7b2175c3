"""The libvirt driver with real guests, and a libvirtd on each of two hosts. `test_qemu_driver` and `test_qemu_postcopy`
contain the tests for any driver of QEMU's machines; the further tests here are about libvirtd."""
# ruff: noqa: F401, F811 - fixtures and tests of that file are this one's too

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from controller.wire.moves import Tuning
from lab.hosts import Hosts, last
from lab.libvirtd import Libvirtd, LibvirtHosts
from lab.patience import until
from tests.integration import qemu_hosts
from tests.integration.agent_namespaces import wait_for
from tests.integration.qemu_hosts import (
    boot,
    condition,
    copy,
    hosts,
    images,
    machine,
    prepare,
    right,
    shell,
    work,
)
from tests.integration.test_qemu_driver import (
    test_abort_leaves_the_source_running,
    test_guest_that_dirties_faster_than_the_link,
    test_killed_destination,
    test_killed_source,
    test_links_and_announcement,
    test_one_that_hangs,
    test_path_that_is_gone,
    test_same_again_and_after_restarts,
    test_there_and_back_under_load,
    test_two_paths,
    test_what_cannot_be_here,
)
from tests.integration.test_qemu_postcopy import test_path_that_is_cut_in_post_copy as cut_in_post_copy
from tests.integration.test_thin_line import test_there_and_back_under_load as there_and_back
from tests.integration.thin_hosts import thin

pytestmark = pytest.mark.lab
ONE, TWO = 0, 1


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> type[Hosts]:
    """With two vCPUs and libvirt's virtio devices, a QEMU without KVM sometimes aborts by itself on a busy host
    (docs/operate/libvirt.md). `make verify-memory` moves such machines."""
    monkeypatch.setattr(qemu_hosts, "VCPUS", 1)
    return LibvirtHosts


@pytest.mark.nightly
@pytest.mark.parametrize("restarted", [False, True])
def test_path_that_is_cut_in_post_copy(tmp_path: Path, images: Path, kind: type[Hosts], restarted: bool) -> None:
    """`test_qemu_postcopy` shows QEMU's own behaviour, and takes minutes."""
    cut_in_post_copy(tmp_path, images, kind, restarted)


def test_there_and_back_over_a_thin_line(thin: Hosts) -> None:
    there_and_back(thin)


@pytest.fixture
def daemons(hosts: Hosts) -> Mapping[int, Libvirtd]:
    """The libvirtd of each host."""
    assert isinstance(hosts, LibvirtHosts)
    return hosts.daemons


def virsh(daemon: Libvirtd, *words: str) -> str:
    """Run virsh at that libvirtd; return its output."""
    command = ["virsh", "-q", "-c", daemon.uri, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_libvirt_knows_what_is_there(hosts: Hosts, daemons: Mapping[int, Libvirtd]) -> None:
    """Libvirt's tools report the same as the driver, before, during and after a move."""
    one, two, macs = hosts.one, hosts.two, machine().macs
    boot(one)
    assert virsh(daemons[ONE], "domstate", "vm1") == "running"
    virsh(daemons[ONE], "suspend", "vm1")
    said = one.begin(one.driver.guest("vm1", "hostname", seconds=60))
    time.sleep(1)
    virsh(daemons[ONE], "resume", "vm1")
    assert said.result(60).strip() == "vm1", "who asks too early waits"
    for mac, state in zip(macs, ("up", "down"), strict=True):
        assert virsh(daemons[ONE], "domif-getlink", "vm1", mac).endswith(state)
    one.do(one.driver.link("vm1", "b", True))
    assert virsh(daemons[ONE], "domif-getlink", "vm1", macs[1]).endswith("up")
    target = prepare(two, "m1")
    assert virsh(daemons[TWO], "domstate", "vm1") == "paused"
    copy(one, "m1", target)
    one.do(one.driver.switchover("vm1", "m1"))
    assert virsh(daemons[ONE], "domstate", "vm1") == "paused"
    two.do(two.driver.activate("vm1", "m1"))
    assert virsh(daemons[TWO], "domstate", "vm1") == "running"
    one.do(one.driver.discard("vm1"))
    assert virsh(daemons[ONE], "list", "--all", "--name") == ""
    assert "guest-exec" in virsh(daemons[TWO], "qemu-agent-command", "vm1", '{"execute": "guest-info"}')


def test_no_libvirtd_is_missed_in_a_move(hosts: Hosts, daemons: Mapping[int, Libvirtd]) -> None:
    """Both libvirtds are killed during the memory transfer, and come back when the move is over."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=4")
    target = prepare(two, "m1")
    one.do(last(one.driver.disk("vm1", "m1", target, Tuning())))
    going = one.begin(last(one.driver.memory("vm1", "m1", target, Tuning(bandwidth=50_000_000))))
    time.sleep(1)
    for daemon in daemons.values():
        daemon.kill()
    going.result(120)
    with pytest.raises(HypervisorError, match="does not answer"):
        one.do(one.driver.link("vm1", "b", True))
    one.do(one.driver.switchover("vm1", "m1"))
    assert (condition(one), condition(two)) == ("moved", "waiting")
    two.do(two.driver.activate("vm1", "m1"))
    assert (condition(one), condition(two)) == ("moved", "running")
    for daemon in daemons.values():
        daemon.start()
    wait_for("paused", lambda: virsh(daemons[ONE], "domstate", "vm1") == "paused")
    wait_for("running", lambda: virsh(daemons[TWO], "domstate", "vm1") == "running")
    right(two, "memory")
    one.do(one.driver.discard("vm1"))
    assert virsh(daemons[ONE], "list", "--all", "--name") == ""


def test_a_libvirtd_that_comes_back_resumes_nothing(hosts: Hosts, daemons: Mapping[int, Libvirtd]) -> None:
    """It resumes neither the machine that was handed over nor the one that waits; an abort resumes the first with its
    memory."""
    one, two = hosts.one, hosts.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=4")
    copy(one, "m1", prepare(two, "m1"))
    one.do(one.driver.switchover("vm1", "m1"))
    for daemon in daemons.values():
        daemon.kill()
        daemon.start()
    for _ in range(20):
        assert (condition(one), condition(two)) == ("moved", "waiting")
        time.sleep(0.1)
    for host in (two, one):
        host.do(host.driver.abort("vm1", "m1"))
    assert (condition(one), condition(two)) == ("running", "gone")
    assert virsh(daemons[ONE], "domstate", "vm1") == "running"
    right(one, "memory")


def test_without_libvirtd_a_machine_is_held_aborted_and_ended(hosts: Hosts, daemons: Mapping[int, Libvirtd]) -> None:
    """Without libvirtd, the operations that must always be possible work. When libvirtd comes back its domains are
    gone, and it starts empty."""
    one, two = hosts.one, hosts.two
    boot(one)
    prepare(two, "m1")
    for daemon in daemons.values():
        daemon.kill()
    one.do(one.driver.hold("vm1"))
    assert condition(one) == "paused"
    for host in (two, one):
        host.do(host.driver.abort("vm1", "m1"))
    assert (condition(one), condition(two)) == ("paused", "gone")
    one.do(one.driver.stop("vm1"))
    assert condition(one) == "stopped"
    with pytest.raises(HypervisorError, match="does not answer"):
        prepare(two, "m2")
    assert condition(two) == "gone"
    for daemon in daemons.values():
        daemon.start()
        until(lambda at=daemon: not virsh(at, "list", "--all", "--name"), "libvirtd sees that its domains have ended")  # type: ignore[misc]
    boot(one)
    copy(one, "m3", prepare(two, "m3"))


def test_somebody_elses_domain_is_not_touched(hosts: Hosts, daemons: Mapping[int, Libvirtd]) -> None:
    """An operator's domain has the same name: the driver starts nothing, and the domain continues to run."""
    one = hosts.one
    other = one.state.parent / "other.xml"
    other.write_text(
        '<domain type="qemu"><name>vm1</name><memory unit="MiB">16</memory>'
        '<os><type arch="x86_64" machine="q35">hvm</type></os><features><acpi/></features></domain>'
    )
    virsh(daemons[ONE], "create", str(other))
    with pytest.raises(HypervisorError, match="already exists"):
        one.do(one.driver.start(machine(), one.attachment, "a"))
    one.do(one.driver.stop("vm1"))
    one.do(one.driver.discard("vm1"))
    assert virsh(daemons[ONE], "domstate", "vm1") == "running"
    virsh(daemons[ONE], "destroy", "vm1")
