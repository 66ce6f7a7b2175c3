"""The EVPN PE: FRR's bgpd and zebra, configured from the desired state.

Start with `render` (config.py), the pure step from desired state to frr.conf text. `Frr` (daemon.py) loads that text
into the running daemons without a session flap and reads the sessions back. vty.py speaks to their vty sockets. The
configuration holds the endpoints and the route servers, but no pool: a join or leave does not change it.
"""

from agents.bgp.frr.config import render
from agents.bgp.frr.daemon import Frr, FrrError

__all__ = ["Frr", "FrrError", "render"]
