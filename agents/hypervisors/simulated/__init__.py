"""A simulated hypervisor, for tests and for scale: machines are files, moves take the time that a pre-copy would.

No machine runs anywhere. `hypervisor` is the driver, `machines` its files, `precopy` the arithmetic of a transfer,
`faults` what is to go wrong.
"""

from agents.hypervisors.hypervisor import Site
from agents.hypervisors.simulated.faults import Faults
from agents.hypervisors.simulated.hypervisor import SimulatedHypervisor

__all__ = ["Faults", "SimulatedHypervisor", "driver"]


def driver(site: Site) -> SimulatedHypervisor:
    """The entry point. Raises HypervisorError if an option is no number, or none that there is."""
    return SimulatedHypervisor(site)
