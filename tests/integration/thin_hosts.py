"""Two hosts whose drivers use weft-transfer, for tests of thin lines."""
# ruff: noqa: F401, F811 - fixtures are imported

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.hypervisors.weft_transfer import DISK_SOCKET, SOCKET, WeftTransfer
from controller.wire.moves import Figures, Keep, Target, Tuning
from lab.hosts import Host, Hosts, last
from tests.integration.qemu_hosts import images, kind

THIN = {"compression": "thin"}
RATE = 60  # Mbit/s
BOTH = (SOCKET, DISK_SOCKET)
KEEPING = Tuning(keep=Keep(seconds=600, bytes=1 << 30))


@pytest.fixture
def thin(tmp_path: Path, images: Path, kind: type[Hosts]) -> Iterator[Hosts]:
    """Two hosts whose drivers use weft-transfer, with a line of RATE between them."""
    both = kind(tmp_path, images, rates=(RATE,), options=THIN)
    try:
        yield both
    finally:
        both.close()


def transfer(host: Host, socket: str = SOCKET) -> WeftTransfer:
    return WeftTransfer(host.state / "vm1", socket)


def kill(host: Host, socket: str = SOCKET) -> None:
    """Kill the host's weft-transfer whose QEMU uses that socket."""
    os.kill(int((host.state / "vm1" / f"{socket}.pid").read_text()), signal.SIGKILL)


def copy_disk(here: Host, name: str, target: Target, tuning: Tuning) -> Figures:
    """Copy the disk; return its figures."""
    return here.do(last(here.driver.disk("vm1", name, target, tuning)))
