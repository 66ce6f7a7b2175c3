"""Leases out of ranges that the controller has delegated: answered at once, kept on disk, accounted for in batches.

`book.py` decides, without I/O: which pair is whose, what is free, what the controller is to know. `journal.py` keeps it
over a crash, before any client hears of it. `account.py` is the exchange with the controller. `source.py` puts them
together for the DHCP servers. ../../docs/network/leases.md says what each part does when another is away.
"""

from agents.leases.shares import Ports
from agents.leases.source import Leases

__all__ = ["Leases", "Ports"]
