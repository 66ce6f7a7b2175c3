"""A simulated hypervisor, for tests and for scale: machines are files, and moves take as long as a pre-copy would.

No machine runs anywhere. `hypervisor` is the driver, `machines` its files, `precopy` computes a transfer, and `faults`
has the faults to cause.
"""

from agents.hypervisors.hypervisor import Site
from agents.hypervisors.simulated.faults import Faults
from agents.hypervisors.simulated.hypervisor import SimulatedHypervisor

__all__ = ["Faults", "SimulatedHypervisor", "driver"]


def driver(site: Site) -> SimulatedHypervisor:
    """Return the driver; this is the entry point. Raises HypervisorError if an option is unknown, or no number."""
    return SimulatedHypervisor(site)
