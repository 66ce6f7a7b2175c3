"""The LAN's DHCPv4 server (RFC 2131). It owns no addresses: every answer comes from the address plan.

Start with `DhcpServer` (server.py), the sockets and the bounded work. decision.py decides, without I/O, what a message
asks for and what the answer is. settings.py has the settings that hosts get with their address; message.py is the wire
format. Weft has its own codec because pyroute2's is made for clients: it drops options that it cannot name, stops
silently at a bad option, and turns client ids into text, while a server must tell clients apart by their exact bytes.
"""

from agents.dhcp.v4.server import DhcpError, DhcpServer
from agents.dhcp.v4.settings import LanSettings

__all__ = ["DhcpError", "DhcpServer", "LanSettings"]
