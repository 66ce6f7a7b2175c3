"""Whether packets pass: probes from the gateway of each LAN, through its tunnels, to the gateways of its remotes.

`targets.py` says who is asked, from the desired state; `arp.py` makes questions and reads answers; `table.py` decides
when to ask and what silence means. All three are pure. `prober.py` has the sockets.
"""

from agents.passages.prober import Prober

__all__ = ["Prober"]
