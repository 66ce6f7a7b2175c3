"""The LAN's router advertisements (RFC 4861, section 6.2). They say that the gateway is a router, that addresses come
by DHCPv6 only, and how large a packet may be.

Start with `Advertiser` (advertiser.py), the socket and the waiting; schedule.py decides the times, without I/O;
message.py is the wire format. A LAN gets at most one advertisement every three seconds.
"""

from agents.dhcp.ra.advertiser import Advertiser, AdvertiserError
from agents.dhcp.ra.message import Advertisement

__all__ = ["Advertisement", "Advertiser", "AdvertiserError"]
