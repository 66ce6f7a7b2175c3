"""Containers that move between two hosts, with runc, CRIU and weft-transfer: connections, files and memory go along."""
# ruff: noqa: F401, F811 - fixtures are imported

import time
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import Refused
from lab.hosts import Hosts
from lab.patience import until
from tests.integration.container_hosts import (
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
    time.sleep(2)
    verdict = device.verdict()
    assert verdict.intact, verdict
    assert first.wire is not None and handed.wire is not None and handed.wire < first.wire / 3
    two.do(two.driver.stop(NAME))
    two.do(two.driver.discard(NAME))
    assert not processes(tmp_path)


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


def test_an_image_that_is_not_there_is_refused(hosts: Hosts) -> None:
    with pytest.raises(Refused, match="there is no image 'other'"):
        prepare(hosts.two, "m1", machine(image="other"))
    assert condition(hosts.two) == "gone"
