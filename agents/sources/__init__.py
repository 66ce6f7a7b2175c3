"""Source guard: at an access port nobody speaks from an address that is somebody else's.

An address of a LAN is its holder's, by MAC: who has leased it, and the machines that were moved here with it. What is
in the ranges that this agent gives out and has no holder is nobody's. All other addresses are as they come: those of
other LANs, of which a device or a machine that has moved keeps one for a while, and those of this LAN that the plan
leaves to others (exclusions, reservations, ranges that are the controller's).

`lan.py` knows whose is what, without I/O; `rules.py` is the pure step to nft text and elements; `sources.py` follows
leases and machines, and `table.py` brings what changes to the kernel; `machines.py` remembers over a restart which
machines came with which addresses.
"""

from agents.sources.lan import Leased
from agents.sources.rules import REASON, TABLE
from agents.sources.sources import Sources

__all__ = ["REASON", "TABLE", "Leased", "Sources"]
