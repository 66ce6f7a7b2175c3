"""Sightings: which devices speak to a LAN from elsewhere, or were given an address here (Teka, section V).

The kernel tells, nobody asks it: nftables rules in a table of their own (`rules`) log the first packet of each source
and then no more for a while, so that a flood costs nothing. `nflog` is the door to that log, `message` reads what comes
through it, `lans` says what of it is worth telling. `witness` stands between the DHCP servers and the leases, `buffer`
collapses, `reporter` tells the controller, which decides (`controller/core/sightings.py`).

Pure: `rules`, `message`, `lans`, `buffer`.
"""

from agents.sightings.sightings import Sightings

__all__ = ["Sightings"]
