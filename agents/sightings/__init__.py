"""Sightings: devices that speak to a LAN from elsewhere, or got an address here (Teka, section V).

The kernel reports them without being asked. nftables rules in a table of their own (`rules`) log the first packet of
each source and then no more for a while, so that a flood costs nothing. `nflog` receives that log, `message` decodes
it, and `lans` decides which packets are worth reporting. `witness` stands between the DHCP servers and the leases,
`buffer` merges duplicates, and `reporter` reports to the controller, which decides (`controller/core/sightings.py`).

Pure: `rules`, `message`, `lans`, `buffer`.
"""

from agents.sightings.sightings import Sightings

__all__ = ["Sightings"]
