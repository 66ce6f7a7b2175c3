"""Whether the guests of this cloudlet's machines still answer.

`silence.py` decides, without I/O, from when on a guest is taken to be silent; `guests.py` asks them in turn, by their
drivers, and leaves machines alone that are being moved.
"""

from agents.guests.guests import Guests

__all__ = ["Guests"]
