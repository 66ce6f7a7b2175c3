"""The `qemu` driver: KVM or TCG, driven over QMP (docs/operate/qemu.md). `driver` is its entry point."""

from agents.hypervisors.hypervisor import Hypervisor, Site
from agents.hypervisors.qemu.hypervisor import Qemu


def driver(site: Site) -> Hypervisor:
    """Return the driver for `site`."""
    return Qemu(site)
