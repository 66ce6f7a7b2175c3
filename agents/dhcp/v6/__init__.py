"""The LAN's DHCPv6 server (RFC 8415). It owns no addresses: a client gets the IPv6 half of the pair that DHCPv4 gives
the same machine, as dual_stack.py ties the two by the MAC its frames come from.

Start with `Dhcp6Server` (server.py), the sockets and the bounded work; decision.py says what a message asks for and
what the answer is, without I/O; message.py is the wire format, packet.py what is around it. Why a codec of our own:
the one on PyPI, dhcpkit's, is of Python 3.4's days and comes as a whole server, and scapy is a workshop, not a tool.
"""

from agents.dhcp.v6.decision import LanSettings6
from agents.dhcp.v6.server import Dhcp6Server

__all__ = ["Dhcp6Server", "LanSettings6"]
