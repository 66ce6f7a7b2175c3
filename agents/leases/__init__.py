"""Leases from ranges that the controller has delegated: answered at once, kept on disk, reported in batches.

`book.py` decides, without I/O, whose each pair is, which pairs are free, and what the controller has to know.
`journal.py` stores it before any client hears of it, so that a crash loses nothing. `account.py` is the exchange with
the controller. `source.py` puts them together for the DHCP servers. ../../docs/network/leases.md says how each part
works when another one fails.
"""

from agents.leases.shares import Ports
from agents.leases.source import Leases

__all__ = ["Leases", "Ports"]
