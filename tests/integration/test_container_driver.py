"""Containers that move between two hosts, with runc, CRIU and weft-transfer: connections, files and memory go along."""
# ruff: noqa: F401, F811 - fixtures are imported

import shutil
import time
from pathlib import Path

import pytest

from agents.hypervisors.container.dumps import MEMORY
from agents.hypervisors.container.image import UNPACKED
from agents.hypervisors.container.rounds import Rounds
from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.kept_copies import FOLDER
from controller.wire.moves import Keep, Tuning
from lab.container_hosts import ContainerHosts, container_at
from lab.containers.build import IMAGE
from lab.hosts import Host, Hosts
from lab.patience import until
from tests.integration.container_hosts import (
    LAN,
    MIB,
    NAME,
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

KEEPING = Tuning(keep=Keep(seconds=600, bytes=1 << 30))
FILES = "sha256sum /data/[1-4] | sort -k2; ls -la /data; ls /etc /root"


@pytest.mark.smoke
def test_a_container_moves_with_its_connection_its_files_and_its_memory(hosts: Hosts, tmp_path: Path) -> None:
    one, two = hosts.one, hosts.two
    start(one)
    shell(one, f"/bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=2")
    shell(one, "mkdir /data; for n in 1 2 3; do head -c 300000 /dev/urandom >/data/$n; done; ln /data/1 /data/4")
    shell(one, "rm /etc/passwd; mkdir /root/new; mknod /data/fifo p; chown 5:6 /data/2; ln -s ../data/3 /data/sym")
    files, device = shell(one, FILES), stream(hosts, tmp_path)
    until(lambda: len(device.series()) > 50, "data flows", 10)
    first = memory(one, "m1", prepare(two, "m1"))
    assert first.rounds is not None and first.rounds > 1 and first.pages is not None and first.pages.same > 0
    handed = hand_over(one, two, "m1")
    right(two)
    assert shell(two, FILES) == files
    _, _, unlocked = (two.state / NAME / "criu/restore.log").read_text().partition("Unlock network")
    assert "repair off" in unlocked and "Error" not in unlocked, "CRIU has ended the silence before its sockets spoke"
    time.sleep(2)
    verdict = device.verdict()
    assert verdict.intact, verdict
    assert first.wire is not None and handed.wire is not None and handed.wire < first.wire / 3
    two.do(two.driver.stop(NAME))
    two.do(two.driver.discard(NAME))
    assert not processes(tmp_path)


def test_only_the_last_round_reads_connections(hosts: Hosts, tmp_path: Path) -> None:
    start(hosts.one)
    device, container = stream(hosts, tmp_path), container_at(hosts.one, NAME)
    until(lambda: len(device.series()) > 50, "data flows", 10)
    for last in (False, True):
        hosts.one.do(Rounds(container).dump(last=last))
        said = (container.folder / "criu/dump.log").read_text()
        assert ("Turning repair on" in said, "Locked" in said or "nft" in said) == (last, last)
        assert bool(list((container.folder / MEMORY).glob("tcp-stream-*"))) is last
    assert device.verdict().intact


def test_there_and_back_again_and_stopped_it_starts_with_its_files(hosts: Hosts, tmp_path: Path) -> None:
    one, two = hosts.one, hosts.two
    start(one)
    shell(one, f"mkdir /data; echo x >/data/x; /bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=1")
    device = stream(hosts, tmp_path)
    for n, (here, there) in enumerate([(one, two), (two, one)] * 2):
        move(here, there, f"m{n}")
        right(there)
    assert device.verdict().intact
    one.do(one.driver.stop(NAME))
    assert condition(one) == "stopped"
    start(one)
    assert shell(one, "cat /data/x").strip() == "x"


def test_the_way_home_costs_what_has_changed(hosts: Hosts) -> None:
    """Both ends keep copies, also of a move that only copies; they are deleted when the container starts anew."""
    one, two = hosts.one, hosts.two
    start(one)
    shell(one, f"head -c 3000000 /dev/urandom >/big; /bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=0.1")
    until(lambda: "written" in shell(one, "/bin/weft-work ask 127.0.0.1 memory verdict"), "it writes", 10)
    time.sleep(3)
    memory(one, "ahead", prepare(two, "ahead", tuning=KEEPING), KEEPING)
    one.do(one.driver.abort(NAME, "ahead"))
    two.do(two.driver.abort(NAME, "ahead"))
    assert (condition(one), condition(two), kept(one), kept(two)) == ("running", "gone", True, True)
    shell(one, "echo new >/aaa")  # before all other files
    wires = []
    for number, (here, there) in enumerate([(one, two), (two, one)]):
        copied = memory(here, f"m{number}", prepare(there, f"m{number}", tuning=KEEPING), KEEPING)
        assert copied.pages is not None and copied.pages.kept and copied.wire is not None
        wires.append(copied.wire)
        hand_over(here, there, f"m{number}")
        right(there)
        assert kept(here) and kept(there)
    assert max(wires) < MIB << 20 >> 3, wires
    one.do(one.driver.stop(NAME))
    assert not kept(one)
    two.do(two.driver.machines())
    assert kept(two), "its time is not over"


def kept(host: Host) -> bool:
    """Return whether the host keeps a copy of the container that a move has ended."""
    return (host.state / FOLDER / NAME / "rounds.mirror.kept").is_file()


def test_what_a_container_has_copied_from_its_image_costs_little(hosts: Hosts) -> None:
    one, two = hosts.one, hosts.two
    start(one)
    shell(one, "for n in 1 2 3; do cp /bin/busybox /$n; done; echo changed >>/1; chown 1:1 /bin/weft-work")
    size = int(shell(one, "stat -c %s /bin/busybox"))
    figures = memory(one, "m1", prepare(two, "m1"))
    assert figures.pages is not None and figures.pages.known > 3 * (size >> 12) - 3
    hand_over(one, two, "m1")
    assert shell(
        two, "tail -c 8 /1; cmp /bin/busybox /2 && cmp /bin/busybox /3 && stat -c %u /bin/weft-work"
    ).split() == [
        "changed",
        "1",
    ]


def test_an_image_that_is_not_there_is_refused(hosts: Hosts) -> None:
    with pytest.raises(Refused, match="there is no image 'other'"):
        prepare(hosts.two, "m1", machine(image="other"))
    assert condition(hosts.two) == "gone"


def test_an_image_with_a_wrong_or_a_missing_layer_is_never_used(tmp_path: Path, container_images: Path) -> None:
    own = tmp_path / "images"
    shutil.copytree(container_images / IMAGE, own / IMAGE)
    blob = max((own / IMAGE / "blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    right = blob.read_bytes()
    hosts = ContainerHosts(tmp_path / "hosts", own, lan=LAN)
    try:
        for wrong in (right[:-100] + b"\0" * 100, right[: len(right) // 2], None):
            if wrong is None:
                blob.unlink()
            else:
                blob.write_bytes(wrong)
            with pytest.raises(HypervisorError):
                start(hosts.one)
            assert condition(hosts.one) == "gone"
            assert not list(hosts.one.state.glob(f"{UNPACKED}/*"))
        blob.write_bytes(right)
        start(hosts.one)
        assert condition(hosts.one) == "running"
    finally:
        hosts.close()


def test_twenty_moves_in_a_row_lose_no_connection(tmp_path: Path, container_images: Path) -> None:
    hosts = ContainerHosts(tmp_path / "hosts", container_images, rates=(350,), lan=LAN)
    try:
        here, there = hosts.one, hosts.two
        start(here)
        shell(here, "/bin/weft-work ask 127.0.0.1 memory start mib=8 rate=1")
        shell(here, "mkdir /data; head -c 300000 /dev/urandom >/data/1; sha256sum /data/1 >/data/sum")
        device = stream(hosts, tmp_path)
        for number in range(20):
            shell(here, f"echo {number} >>/data/moves")
            move(here, there, f"m{number}")
            here, there = there, here
            right(here)
            shell(here, "sha256sum -c /data/sum")
        assert shell(here, "cat /data/moves").split() == list(map(str, range(20)))
        verdict = device.verdict()
        assert verdict.intact, verdict
    finally:
        hosts.close()


def test_no_program_of_a_container_finds_multipath_tcp(hosts: Hosts) -> None:
    """It is off before the container begins, and not only when `weft-guest` has begun beside it."""
    prepare(hosts.two, "m1")
    waiting = container_at(hosts.two, NAME).sandbox
    assert hosts.two.do(waiting.run("cat", "/proc/sys/net/mptcp/enabled")).strip() == "0"


def test_files_that_came_by_a_move_that_was_stopped_are_not_started_with(hosts: Hosts) -> None:
    one, two = hosts.one, hosts.two
    start(one)
    shell(one, "echo x >/written")
    memory(one, "m1", prepare(two, "m1"))
    assert list(two.state.glob(f"{NAME}/upper/written"))
    for host in (two, one):
        host.do(host.driver.stop(NAME))
    start(two)
    assert shell(two, "ls /written 2>/dev/null || echo none").strip() == "none"
