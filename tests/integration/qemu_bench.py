"""The qemu driver for the conformance tests: `make conformance DRIVER=qemu`."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from agents.hypervisors.hypervisor import Attachment, Hypervisor
from agents.hypervisors.qemu import driver, process
from agents.hypervisors.qemu.hypervisor import Qemu
from controller.wire.machines import Disk, Machine
from lab.guests.build import build
from lab.hosts import kill
from lab.thread_netns import alone
from tests.conformance.bench import Bench

MACHINE = Machine(
    name="conformance",
    driver="qemu",
    image="lab",
    memory=128 << 20,
    macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"),
    disk=Disk(base="lab", bytes=512 << 20),
)


async def crash(hypervisor: Hypervisor, name: str) -> None:
    """Kill a machine's QEMU with SIGKILL."""
    assert isinstance(hypervisor, Qemu)
    kill(hypervisor.folder(name) / "pid")


async def freeze(hypervisor: Hypervisor, name: str, frozen: bool) -> None:
    """Send SIGSTOP to a machine's QEMU, or SIGCONT."""
    assert isinstance(hypervisor, Qemu)
    pid = process.find(hypervisor.folder(name))
    assert pid is not None
    os.kill(pid, signal.SIGSTOP if frozen else signal.SIGCONT)


@contextmanager
def bench() -> Iterator[Bench]:
    """Yield a bench in a network namespace of its own, with a LAN. Machines are moved as soon as they have begun to
    boot."""
    images = build()  # while a mirror is still reachable
    with alone():
        for command in ("ip link set lo up", "ip link add lan1 type bridge", "ip link set lan1 up"):
            subprocess.run(command.split(), check=True)
        options = {"accelerator": "tcg", "shutdown_seconds": "0"}
        yield Bench(
            driver, MACHINE, Attachment("lan1", 1400), images=images, options=options,
            seconds=90, settling=1, kill=crash, freeze=freeze, echo="/bin/echo",
        )  # fmt: skip
