"""Post-copy with real guests: the path is cut while the memory is still on its way."""
# ruff: noqa: F401, F811 - fixtures are imported

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.condition import COMING, SEVERED
from controller.wire.moves import Tuning
from lab.hosts import Hosts
from lab.patience import until
from tests.integration.qemu_hosts import (
    boot,
    condition,
    copy,
    detail,
    discarded,
    images,
    kind,
    machine,
    prepare,
    right,
    work,
)

pytestmark = pytest.mark.lab


@contextmanager
def on_its_way(tmp_path: Path, images: Path, kind: type[Hosts]) -> Iterator[Hosts]:
    """Two hosts whose guest has left in post-copy, with most of its memory still on the way."""
    hosts = kind(tmp_path, images, rates=(30,))
    one, two = hosts.one, hosts.two
    tuning = Tuning(compression=False, auto_converge=False, post_copy=True)
    try:
        boot(one, machine(disk=None))
        work(one, "memory", "start", "mib=40", "rate=30")
        copy(one, "m1", prepare(two, "m1", tuning, machine(disk=None)), tuning)
        one.do(one.driver.switchover("vm1", "m1"))
        two.do(two.driver.activate("vm1", "m1"))
        yield hosts
    finally:
        hosts.close()


@pytest.mark.parametrize("restarted", [False, True])
def test_path_that_is_cut_in_post_copy(tmp_path: Path, images: Path, kind: type[Hosts], restarted: bool) -> None:
    """The path is cut after the guest has left, while its memory is on the way: both ends notice and wait (the source's
    agent may restart meanwhile), and continue when the path is back. No page is lost."""
    with on_its_way(tmp_path, images, kind) as hosts:
        assert detail(hosts.one) == COMING
        for _ in range(2):  # more than once
            hosts.cut()
            until(lambda: SEVERED in detail(hosts.one), seconds=60)
            until(lambda: COMING in detail(hosts.two), seconds=60)
            if restarted:
                hosts.restart(0)
            assert (condition(hosts.one), condition(hosts.two)) == ("moved", "running")
            with pytest.raises(HypervisorError, match=COMING):
                hosts.one.do(hosts.one.driver.discard("vm1"))
            hosts.mend()
            until(lambda: SEVERED not in detail(hosts.one) and not detail(hosts.two), seconds=60)
        discarded(hosts.one)
        right(hosts.two, "memory")


def idle(hosts: Hosts) -> bool:
    """Return whether TCP sends no data in the next second; it may ask whether there is room."""
    before = hosts.sent(0)
    time.sleep(1)
    return hosts.sent(0) - before < 1000


def test_path_that_is_cut_while_the_destination_is_busy(tmp_path: Path, images: Path, kind: type[Hosts]) -> None:
    """The destination's QEMU takes nothing for a while, so its buffer is full, no data is on its way, and TCP notices
    no cut. Both ends notice and continue when the path is back."""
    with on_its_way(tmp_path, images, kind) as hosts:
        one, two = hosts.one, hosts.two
        os.kill(two.pid("vm1"), signal.SIGSTOP)
        until(lambda: idle(hosts), seconds=60)
        hosts.cut()
        until(lambda: SEVERED in detail(one), seconds=60)
        os.kill(two.pid("vm1"), signal.SIGCONT)
        hosts.mend()
        until(lambda: detail(one) != COMING and SEVERED not in detail(one) and not detail(two), seconds=120)
        discarded(one)
        right(two, "memory")
