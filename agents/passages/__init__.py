"""Probes whether packets pass from the gateway of each LAN, through its tunnels, to the gateways of its remotes.

`targets.py` computes whom to ask from the desired state; `arp.py`, `discovery.py` and `echo.py` make questions and read
answers; `table.py` decides when to ask and what silence means. All of them are pure. `prober.py` asks all the time, on
its own; `verifier.py` asks when the controller wants to know, by `questions.py`.
"""

from agents.passages.prober import Prober
from agents.passages.verifier import Verifier

__all__ = ["Prober", "Verifier"]
