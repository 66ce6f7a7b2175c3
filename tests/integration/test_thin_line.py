"""weft-transfer beside real QEMUs: two hosts with a thin line between them; each test names its action and the host."""
# ruff: noqa: F401, F811 - fixtures are imported

import shutil
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import HypervisorError, Introduced, Site
from agents.hypervisors.kept_copies import FOLDER
from agents.hypervisors.qemu import base_memory
from agents.hypervisors.weft_transfer import DISK_SOCKET, SOCKET
from controller.wire.moves import Tuning
from lab.hosts import Host, Hosts
from lab.patience import until
from tests.integration.certified import certify
from tests.integration.qemu_hosts import (
    boot,
    condition,
    copy,
    hand_over,
    images,
    kind,
    machine,
    move,
    prepare,
    right,
    work,
)
from tests.integration.thin_hosts import KEEPING, RATE, THIN, copy_disk, thin, transfer

pytestmark = pytest.mark.lab


def busy(host: Host) -> None:
    """Boot the machine, which writes much of its memory and little of its disk."""
    boot(host)
    work(host, "memory", "start", "mib=16", "rate=1")
    work(host, "disk", "start", "mib=32", "rate=0.1")


def left(thin: Hosts) -> list[Path]:
    """Return the mirrors on both hosts: the guest's memory and disk, in files."""
    return [*thin.one.state.glob("*/*.mirror*"), *thin.two.state.glob("*/*.mirror*")]


def sealed(host: Host) -> set[str]:
    """Return the copies of the machine that the host keeps, by socket."""
    return {path.name.removesuffix(".mirror.kept") for path in (host.state / FOLDER / "vm1").glob("*.mirror.kept")}


@pytest.mark.smoke
def test_there_and_back_under_load(thin: Hosts) -> None:
    """The guest's data is right after each move, little of its memory goes over the line, and no mirror stays."""
    one, two = thin.one, thin.two
    boot(one)
    work(one, "memory", "start", "mib=16", "rate=1")
    work(one, "disk", "start", "mib=8", "rate=1")
    for number, (here, there) in enumerate(((one, two), (two, one))):
        name = f"m{number}"
        figures = copy(here, name, prepare(there, name))
        assert figures.wire is not None and figures.wire < 120 << 20, "as much as QEMU alone would send"
        hand_over(here, there, name)
        right(there, "memory", "disk")
        until(lambda: not left(thin), "the mirrors are deleted", 5)


def test_the_way_home_costs_what_has_changed(thin: Hosts) -> None:
    """Both ends keep copies of memory and disk; they are deleted when the machine starts anew."""
    one, two = thin.one, thin.two
    busy(one)
    wires: dict[str, list[int]] = {"disk": [], "memory": []}
    for number, (here, there) in enumerate(((one, two), (two, one))):
        name = f"m{number}"
        target = prepare(there, name, KEEPING)
        disk, memory = copy_disk(here, name, target, KEEPING), copy(here, name, target, KEEPING)
        for what, figures in (("disk", disk), ("memory", memory)):
            assert figures.wire is not None and figures.pages is not None, what
            assert figures.pages.kept == (number == 1), what
            wires[what].append(figures.wire)
        assert disk.done is not None and disk.done > 30 << 20
        hand_over(here, there, name)
        right(there, "memory", "disk")
        until(lambda: all(sealed(host) == {SOCKET, DISK_SOCKET} for host in (one, two)), "all copies are sealed", 15)
    assert wires["memory"][1] < wires["memory"][0] / 3
    assert wires["disk"][1] < wires["disk"][0] / 5
    one.do(one.driver.stop("vm1"))
    assert not sealed(one), "the machine was stopped: its memory is worth nothing"


def test_a_copy_ahead_of_a_move_makes_that_cheap(thin: Hosts) -> None:
    """A transfer that is aborted at its source first leaves copies at both ends; the machine has stayed meanwhile."""
    one, two = thin.one, thin.two
    busy(one)
    wires: dict[str, list[int]] = {"disk": [], "memory": []}
    for name in ("ahead", "m1"):
        target = prepare(two, name, KEEPING)
        disk, memory = copy_disk(one, name, target, KEEPING), copy(one, name, target, KEEPING)
        for what, figures in (("disk", disk), ("memory", memory)):
            assert figures.wire is not None and figures.pages is not None, what
            assert figures.pages.kept == (name == "m1"), what
            wires[what].append(figures.wire)
        if name == "ahead":
            one.do(one.driver.abort("vm1", name))
            two.do(two.driver.abort("vm1", name))
            assert (condition(one), condition(two)) == ("running", "gone")
            assert sealed(one) == sealed(two) == {SOCKET, DISK_SOCKET}
            right(one, "memory", "disk")
    hand_over(one, two, "m1")
    right(two, "memory", "disk")
    assert wires["memory"][1] < wires["memory"][0] / 3
    assert wires["disk"][1] < wires["disk"][0] / 5


def test_a_base_memory_saves_what_every_boot_has(tmp_path: Path, images: Path, kind: type[Hosts]) -> None:
    """The memory of one boot, stored by the agent's command, against the same move without."""
    own = tmp_path / "images"
    shutil.copytree(images, own, symlinks=True)
    wires = []
    for part in ("without", "with"):
        hosts = kind(tmp_path / part, own, rates=(RATE,), options=THIN)
        try:
            if part == "with":
                site = Site("c1", tmp_path / "base", own, "", options=THIN)
                made = hosts.one.do(base_memory.make(site, "lab", machine().memory, 120))
                assert made.stat().st_size > 1 << 20
                assert not list((tmp_path / "base").glob(".base-*")), "nothing else is left"
            boot(hosts.one)
            figures = copy(hosts.one, "m1", prepare(hosts.two, "m1"))
            hand_over(hosts.one, hosts.two, "m1")
            assert figures.wire is not None
            wires.append(figures.wire)
        finally:
            hosts.close()
    assert wires[1] < 0.6 * wires[0]


def test_ends_know_each_other_by_their_certificates(tmp_path: Path, images: Path, kind: type[Hosts]) -> None:
    """Memory goes only to the cloudlet that the order names, and comes only from that one. It is encrypted."""
    hosts = kind(tmp_path, images, rates=(RATE,), options=THIN, identities=certify(tmp_path / "own", "c1", "c2"))
    one, two = hosts.one, hosts.two
    try:
        boot(one)
        work(one, "memory", "start", "mib=16", "rate=1")
        for name, source, destination in (("m1", "c3", "c2"), ("m2", "c1", "c3"), ("m3", "c1", "c2")):
            introduce(two, name, source)
            introduce(one, name, destination)
            target = prepare(two, name)
            if name == "m3":
                copy(one, name, target)
                hand_over(one, two, name)
                break
            with pytest.raises(HypervisorError, match="weft-transfer: the other end at"):
                copy(one, name, target)
            two.do(two.driver.abort("vm1", name))
            one.do(one.driver.abort("vm1", name))
            assert (condition(one), condition(two)) == ("running", "gone")
        right(two, "memory")
    finally:
        hosts.close()


def introduce(host: Host, move: str, peer: str) -> None:
    assert isinstance(host.driver, Introduced)
    host.driver.introduce(move, peer)


def test_a_move_that_is_aborted_leaves_nothing(thin: Hosts) -> None:
    one, two = thin.one, thin.two
    boot(one)
    copy(one, "m1", prepare(two, "m1"))
    two.do(two.driver.abort("vm1", "m1"))
    one.do(one.driver.abort("vm1", "m1"))
    assert (condition(one), condition(two)) == ("running", "gone")
    assert not transfer(one).runs() and not transfer(two).runs()
    move(one, two, "m2")


def test_memory_asked_for_twice_goes_on(thin: Hosts) -> None:
    """As after a restart of the agent: the same processes carry the move on."""
    one, two = thin.one, thin.two
    boot(one)
    target = prepare(two, "m1")

    async def begin() -> None:
        async for figures in one.driver.memory("vm1", "m1", target, Tuning()):
            if figures.wire:
                return

    one.do(begin())
    first = (one.state / "vm1" / "transfer.pid").read_text()
    copy(one, "m1", prepare(two, "m1"))
    assert (one.state / "vm1" / "transfer.pid").read_text() == first
    hand_over(one, two, "m1")
    assert condition(two) == "running"
