"""The EVPN PE: FRR's bgpd and zebra, configured from the desired state.

Start with `render` (config.py), the pure step from desired state to frr.conf text; `Frr` (daemon.py) loads that text
into the running daemons without a flap and reads the sessions back; vty.py speaks to their vty sockets. The
configuration holds the endpoints and the route servers, never a pool: joining and leaving leave it untouched.
"""

from agents.bgp.frr.config import render
from agents.bgp.frr.daemon import Frr, FrrError

__all__ = ["Frr", "FrrError", "render"]
