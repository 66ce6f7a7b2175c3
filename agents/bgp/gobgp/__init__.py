"""Access to gobgpd, the VPLS PE's BGP speaker, over its gRPC API.

Start with `Gobgp` (speaker.py): it keeps the daemon configured and its table at hand. messages.py translates between
our values and the API's messages.
"""

from agents.bgp.gobgp.speaker import HOLD, Gobgp, SpeakerIntent

__all__ = ["HOLD", "Gobgp", "SpeakerIntent"]
