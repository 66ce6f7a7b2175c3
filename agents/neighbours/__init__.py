"""Round trips to other cloudlets (Teka, "Possible neighbour database"). The agent probes the cloudlets that the
controller names, from VTEP to VTEP, in the underlay and outside every tunnel, and reports the results in batches.

Pure: `schedule` (who is next, and when), `samples` (the statistics of a round), `buffer` (rounds that wait for the
controller). With network access: `icmp`, `stamp` (UDP, both ends), `tcp`. `prober` makes the rounds, `reporter`
reports.
"""

from agents.neighbours.neighbours import Neighbours

__all__ = ["Neighbours"]
