"""The agent's part in moves: orders in, the hypervisor's drivers in between, progress out.

`moves` keeps one task per move, `acts` says which call an order is, `activation` is
the one after which nothing may fail, `fence` carries out the two acts that decide where
the machine runs, `place` has the drivers and LANs, `switch` what happens to the machine's addresses, `journal` what a
restart must not lose, and `reporter` tells the controller.
"""

from agents.moves.moves import Moves
from agents.moves.switch import Switch

__all__ = ["Moves", "Switch"]
