"""The `libvirt` driver: machines as domains of a libvirtd's, moved as the `qemu` driver moves its own
(docs/operate/libvirt.md). `driver` is its entry point."""

from agents.hypervisors.hypervisor import Hypervisor, Site
from agents.hypervisors.libvirt.hypervisor import Libvirt


def driver(site: Site) -> Hypervisor:
    """The driver for `site`."""
    return Libvirt(site)
