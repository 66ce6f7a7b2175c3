"""Source guard: at an access port nobody can send from an address that belongs to somebody else.

An address of a LAN belongs to its holder's MACs: those of the client that has leased it, and of the machines that moved
here with it. An address in the ranges that this agent gives out belongs to nobody if it has no holder. The guard does
not check any other address: those of other LANs, of which a device or a machine that has moved keeps one for a while,
and those of this LAN that the plan leaves to others (exclusions, reservations, the controller's ranges).

`lan.py` knows the holders of addresses, without I/O. `rules.py` is the pure step to nft text and elements. `sources.py`
follows leases and machines, and `table.py` brings the changes to the kernel. `machines.py` remembers across a restart
which machines came with which addresses.
"""

from agents.sources.lan import Leased
from agents.sources.rules import REASON, TABLE
from agents.sources.sources import Sources

__all__ = ["REASON", "TABLE", "Leased", "Sources"]
