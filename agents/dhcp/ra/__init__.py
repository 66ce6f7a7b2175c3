"""The LAN's router advertisements (RFC 4861, section 6.2): this is the router, addresses come by DHCPv6 only, and this
much fits into a packet.

Start with `Advertiser` (advertiser.py), the socket and the waiting; schedule.py says when, without I/O; message.py is
the wire format. Whatever happens here, a LAN gets an advertisement every three seconds at most.
"""

from agents.dhcp.ra.advertiser import Advertiser, AdvertiserError
from agents.dhcp.ra.message import Advertisement

__all__ = ["Advertisement", "Advertiser", "AdvertiserError"]
