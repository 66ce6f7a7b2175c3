"""Probes whether packets pass from the gateway of each LAN, through its tunnels, to the gateways of its remotes.

`targets.py` computes whom to ask from the desired state; `arp.py` and `discovery.py` make questions and read answers;
`table.py` decides when to ask and what silence means. All of them are pure. `prober.py` has the sockets.
"""

from agents.passages.prober import Prober

__all__ = ["Prober"]
