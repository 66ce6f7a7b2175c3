"""The `container` driver: OCI containers by runc, moved by CRIU and weft-transfer (docs/operate/containers.md).
`driver` is its entry point."""

from agents.hypervisors.container.hypervisor import Containers
from agents.hypervisors.hypervisor import Hypervisor, Site


def driver(site: Site) -> Hypervisor:
    """Return the driver for `site`."""
    return Containers(site)
