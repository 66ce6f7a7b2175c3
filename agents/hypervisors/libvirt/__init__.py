"""The `libvirt` driver: machines are domains of a libvirtd, and move as those of the `qemu` driver do
(docs/operate/libvirt.md). `driver` is its entry point."""

from agents.hypervisors.hypervisor import Hypervisor, Site
from agents.hypervisors.libvirt.hypervisor import Libvirt


def driver(site: Site) -> Hypervisor:
    """Return the driver for `site`."""
    return Libvirt(site)
