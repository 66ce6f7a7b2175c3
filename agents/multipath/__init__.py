"""Multipath TCP as the agents see and steer it: what happens between `activate` and `normal` of a move
(docs/network/multipath.md).

Begin with switch.py (what is done, in which order) and join.py (how it is known that the device is there). Pure:
options.py and segment.py (what is in a frame), handshake.py (when a subflow has joined), sockets.py (what a guest says
of its own). packet_socket.py is the door to the wire; watch.py listens there, and watches.py keeps what listens.
guest.py is `weft-guest`, asked through the hypervisor.
"""

from agents.multipath.handshake import Joined
from agents.multipath.join import NotJoined
from agents.multipath.multipath import Multipath
from agents.multipath.watch import Watch

__all__ = ["Joined", "Multipath", "NotJoined", "Watch"]
