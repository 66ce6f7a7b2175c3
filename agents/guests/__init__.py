"""The check whether the guests of this cloudlet's machines still answer.

`silence.py` decides, without I/O, when a guest counts as silent. `guests.py` asks the guests by their drivers, and
leaves out machines that are being moved.
"""

from agents.guests.guests import Guests

__all__ = ["Guests"]
