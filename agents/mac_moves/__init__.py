"""MACs that come from two places in turn: two machines with one MAC, or a loop (RFC 7432, section 15.1).

`places.py` counts and decides (pure), `notifications.py` reads the kernel's notifications about its bridges' forwarding
databases, and `mac_moves.py` connects both to the LANs.
"""

from agents.mac_moves.mac_moves import MacMoves

__all__ = ["MacMoves"]
