"""The libvirt driver for the conformance tests: `make conformance DRIVER=libvirt`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from agents.hypervisors.hypervisor import Hypervisor, Site
from agents.hypervisors.libvirt import driver
from lab.libvirtd import Libvirtd
from tests.conformance.bench import Bench
from tests.integration import qemu_bench


@contextmanager
def bench() -> Iterator[Bench]:
    """Yield the bench of the qemu driver, with a libvirtd for each of the two cloudlets."""
    with qemu_bench.bench() as plain:
        daemons = {f"c{number}": Libvirtd() for number in (1, 2)}

        def made(site: Site) -> Hypervisor:
            return driver(replace(site, options={**site.options, "uri": daemons[site.cloudlet].uri}))

        try:
            yield replace(plain, driver=made, machine=plain.machine.model_copy(update={"driver": "libvirt"}))
        finally:
            for daemon in daemons.values():
                daemon.close()
