"""The agent's part in moves: orders come in, the hypervisor drivers carry them out, progress goes to the controller.

`moves` keeps one task per move, and `acts` maps an order to calls of the driver. `activation` is the act after which
nothing may count as failed. `lease_fence` carries out the two acts that decide where the machine runs.
`execution_context` has the drivers and LANs, and `switch` changes the machine's addresses. `journal` stores the data
that a restart must not lose, and `reporter` reports to the controller.
"""

from agents.moves.moves import Moves
from agents.moves.switch import Switch

__all__ = ["Moves", "Switch"]
