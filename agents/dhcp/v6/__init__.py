"""The LAN's DHCPv6 server (RFC 8415). It owns no addresses: a client gets the IPv6 address that belongs to the IPv4
address of the same machine. dual_stack.py finds that machine by the MAC from which its frames come.

Start with `Dhcp6Server` (server.py), the sockets and the bounded work. decision.py decides, without I/O, what a message
asks for and what the answer is. message.py is the wire format, packet.py the packet around it. Weft has its own codec
because the one on PyPI, dhcpkit's, dates from Python 3.4 and is part of a whole server, and scapy is made for
experiments.
"""

from agents.dhcp.v6.decision import LanSettings6
from agents.dhcp.v6.server import Dhcp6Server

__all__ = ["Dhcp6Server", "LanSettings6"]
