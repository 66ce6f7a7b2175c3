"""Round trips to other cloudlets (Teka, "Possible neighbour database"): whom the controller names is probed from VTEP
to VTEP, in the underlay and outside every tunnel, and what was found is reported in batches.

Pure: `schedule` (who is next, and when), `samples` (what a round says), `buffer` (what waits for the controller).
Doors to the network: `icmp`, `stamp` (UDP, both ends), `tcp`. `prober` goes the rounds, `reporter` tells.
"""

from agents.neighbours.neighbours import Neighbours

__all__ = ["Neighbours"]
