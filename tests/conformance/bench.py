"""The bench that a driver's author supplies to the conformance tests: a machine to try the driver with, and its
setting."""

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from agents.hypervisors.hypervisor import Attachment, Hypervisor, Site
from controller.wire.machines import Machine
from controller.wire.moves import Tuning

ENVIRONMENT = "WEFT_CONFORMANCE"
"""The environment variable that names the bench, `MODULE:NAME`."""

OURS = {
    "simulated": "tests.conformance.simulated:bench",
    "qemu": "tests.integration.qemu_bench:bench",
    "libvirt": "tests.integration.libvirt_bench:bench",
    "container": "tests.integration.container_bench:bench",
}
"""The benches of this repository's own drivers, by their names."""


@dataclass(frozen=True)
class Bench:
    """`driver` is the entry point, called again for every restart. `machine` is small: the tests start it some fifty
    times. `addresses` are those of the two cloudlets. `seconds` limits each call, `settling` is the time that a machine
    needs from its start until it can be moved.

    Optional: `identity` returns a text that only the same machine would return again, such as something in its memory;
    `kill` ends a machine as a crash would; `freeze` suspends the process that runs it, or resumes it; `echo` is a
    program in the guest that prints its arguments, for drivers that can run one."""

    driver: Callable[[Site], Hypervisor]
    machine: Machine
    attachment: Attachment = field(default_factory=lambda: Attachment("lan1", 1500))
    addresses: tuple[str, str] = ("127.0.0.1", "127.0.0.1")
    images: Path = Path("/var/lib/weft/images")
    options: Mapping[str, str] = field(default_factory=dict)
    tuning: Tuning = field(default_factory=Tuning)
    seconds: float = 10.0
    settling: float = 0.0
    identity: Callable[[Hypervisor, str], Awaitable[str]] | None = None
    kill: Callable[[Hypervisor, str], Awaitable[None]] | None = None
    freeze: Callable[[Hypervisor, str, bool], Awaitable[None]] | None = None
    echo: str | None = None

    def hypervisor(self, number: int, directory: Path) -> Hypervisor:
        """Return the driver of the first or the second cloudlet."""
        state_dir = directory / f"c{number}"
        state_dir.mkdir(exist_ok=True)
        address = self.addresses[number - 1]
        return self.driver(Site(f"c{number}", state_dir, self.images, address, (address,), self.options))


@contextmanager
def chosen() -> Iterator[Bench]:
    """Yield the bench that the environment names, or the simulated one. The name is that of an object, or of a function
    that returns a context with the bench."""
    module, _, name = os.environ.get(ENVIRONMENT, OURS["simulated"]).partition(":")
    found: Bench | Callable[[], AbstractContextManager[Bench]] = getattr(import_module(module), name)
    if isinstance(found, Bench):
        yield found
    else:
        with found() as bench:
            yield bench
