"""The container driver for the conformance tests: `make conformance DRIVER=container`."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from agents.hypervisors.container import driver
from agents.hypervisors.container.hypervisor import Containers
from agents.hypervisors.hypervisor import Attachment, Hypervisor
from controller.wire.machines import Machine
from lab.containers.build import IMAGE, build
from lab.thread_netns import alone
from tests.conformance.bench import Bench

MACHINE = Machine(
    name="conformance",
    driver="container",
    image=IMAGE,
    memory=64 << 20,
    macs=("02:00:00:77:00:0a", "02:00:00:77:00:0b"),
    options={"command": "/bin/sh -c 'cat /proc/sys/kernel/random/uuid >/run/me; exec sleep 100000'"},
)


async def crash(hypervisor: Hypervisor, name: str) -> None:
    """End a container's processes, and those that wait for its state."""
    assert isinstance(hypervisor, Containers)
    container = hypervisor.container(name)
    await container.runtime.end()
    await container.sandbox.close()


async def identity(hypervisor: Hypervisor, name: str) -> str:
    """Return what the container has written when it began."""
    return await hypervisor.guest(name, "/bin/cat", "/run/me")


@contextmanager
def bench() -> Iterator[Bench]:
    """Yield a bench in a network namespace of its own, with a LAN."""
    images = build()  # while a mirror is still reachable
    with alone():
        for command in ("ip link set lo up", "ip link add lan1 type bridge", "ip link set lan1 up"):
            subprocess.run(command.split(), check=True)
        yield Bench(
            driver, MACHINE, Attachment("lan1", 1400), images=images, options={"shutdown_seconds": "0"},
            seconds=60, settling=0.1, identity=identity, kill=crash, echo="/bin/echo",
        )  # fmt: skip
