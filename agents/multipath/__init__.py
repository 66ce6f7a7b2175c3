"""Multipath TCP as the agents see and control it: the work between `activate` and `normal` of a move
(docs/network/multipath.md).

Begin with switch.py (the actions and their order) and join.py (how the agent finds out that the device has joined).
Pure: options.py and segment.py (the contents of a frame), handshake.py (when a subflow has joined), sockets.py (the
guest's list of its sockets). packet_socket.py is the door to the wire; watch.py listens there, and watches.py keeps the
listeners. guest.py is `weft-guest`, asked through the hypervisor.
"""

from agents.multipath.handshake import Joined
from agents.multipath.join import NotJoined
from agents.multipath.multipath import Multipath
from agents.multipath.watch import Watch

__all__ = ["Joined", "Multipath", "NotJoined", "Watch"]
